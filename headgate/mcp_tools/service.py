"""Accepting a changed tool, and forgetting a server's tools. A transaction is the caller's."""

from headgate.audit.model import EventType
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.mcp_tools.model import PinnedTool
from headgate.mcp_tools.store import accept_seen, delete_tools, find_tool
from headgate.organizations.change import OrganizationChange


async def accept_tool(change: OrganizationChange, tool_id: str, sha256: bytes) -> PinnedTool:
    """The definition with this digest is accepted.

    Raises NotFoundError; ConflictError where the tool has not changed, or has changed again meanwhile.
    """
    await change.raise_generation()
    tool = await find_tool(change.connection, change.org_id, tool_id, lock=True)
    if tool.changed_at is None:
        raise ConflictError(f"the tool {tool.name} of {tool.server} has not changed")
    if tool.seen_sha256 != sha256:
        raise ConflictError(
            f"the tool {tool.name} of {tool.server} has another definition now: look at it again",
            details={"seen_sha256": "sha256:" + tool.seen_sha256.hex()},
        )
    await accept_seen(change.connection, change.org_id, tool_id, change.user_id, change.at)
    await change.record(
        EventType.MCP_TOOL_ACCEPTED,
        {
            "tool_id": tool_id,
            "server": tool.server,
            "name": tool.name,
            "previous_sha256": "sha256:" + tool.accepted_sha256.hex(),
            "accepted_sha256": "sha256:" + sha256.hex(),
        },
    )
    return await find_tool(change.connection, change.org_id, tool_id)


async def forget_tools(change: OrganizationChange, server: str) -> int:
    """All tools of this server: what is seen next is accepted. Answers how many. Raises NotFoundError."""
    await change.raise_generation()
    forgotten = await delete_tools(change.connection, change.org_id, server)
    if not forgotten:
        raise NotFoundError(f"no tools of an MCP server {server} are known")
    await change.record(EventType.MCP_SERVER_FORGOTTEN, {"server": server, "tools": forgotten})
    return forgotten
