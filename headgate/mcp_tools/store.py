"""Pinned tools in the database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix, earliest_id, new_id
from headgate.mcp_tools.model import TOOLS_MAX, TOOLS_OF_AGENT_MAX, TOOLS_OF_SERVER_MAX, Definition, PinnedTool

NAMES_ELSEWHERE_MAX: Final = 5_000
_COLUMNS: Final = sql.SQL(
    "t.org_id, t.tool_id, t.server, t.name, t.accepted_sha256, t.accepted_definition, t.accepted_at, t.accepted_by,"
    " t.seen_sha256, t.seen_definition, t.seen_at, t.changed_at"
)


class Noted(Struct, frozen=True):
    """What is known of the tools of a list. ``is_full``: there is no room for those that are new."""

    first_seen: int
    changed: frozenset[str]
    is_full: bool


class ToolPage(Struct, frozen=True):
    """One page, newest first."""

    tools: Sequence[PinnedTool]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def note_tools(
    connection: Connection,
    org_id: str,
    server: str,
    listed: Sequence[Definition],
    *,
    agent_id: str,
    action_id: str | None,
    at: datetime,
) -> Noted:
    """Keeps those that are new, and marks those that differ from what was seen last."""
    cursor = await connection.execute(
        "SELECT first_seen, changed, is_full, told FROM note_mcp_tools(%s, %s, %s, %s, %s, %s::text[], %s::text[],"
        " %s::bytea[], %s::text[], %s, %s)",
        [
            org_id,
            agent_id,
            action_id,
            server,
            at,
            [new_id(IdPrefix.MCP_TOOL) for _ in listed],
            [one.name for one in listed],
            [one.sha256 for one in listed],
            [one.text for one in listed],
            TOOLS_OF_SERVER_MAX,
            TOOLS_OF_AGENT_MAX if "/" in server else TOOLS_MAX,
        ],
    )
    row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - the function answers one row
    changed = [
        WrittenEvent(EventType.MCP_TOOL_CHANGED.value, action_id, agent_id, at, payload) for payload in row["told"]
    ]
    note_events(connection, org_id, changed)
    return Noted(row["first_seen"], frozenset(row["changed"]), row["is_full"])


async def changed_tools(connection: Connection, org_id: str) -> frozenset[tuple[str, str]]:
    """Server and name of each tool that is not what was accepted, for decisions."""
    cursor = await connection.execute(
        "SELECT server, name FROM mcp_tools WHERE org_id = %s AND changed_at IS NOT NULL", [org_id]
    )
    return frozenset([(row["server"], row["name"]) async for row in cursor])


async def names_elsewhere(connection: Connection, org_id: str, server: str, agent_id: str) -> frozenset[str]:
    """Names of tools that other servers, or others that the agent runs itself, offered before ``server`` wrote the
    newest of its definitions: a definition cannot speak of what came after it, and no later tool makes it suspect."""
    cursor = await connection.execute(
        "SELECT max(seen_at) AS newest FROM mcp_tools WHERE org_id = %s AND server = %s", [org_id, server]
    )
    row = await cursor.fetchone()
    if row is None or row["newest"] is None:
        return frozenset()
    cursor = await connection.execute(
        "SELECT DISTINCT name FROM mcp_tools WHERE org_id = %s AND server <> %s AND tool_id < %s"
        " AND (position('/' IN server) = 0 OR starts_with(server, %s)) LIMIT %s",
        [org_id, server, earliest_id(IdPrefix.MCP_TOOL, row["newest"]), f"{agent_id}/", NAMES_ELSEWHERE_MAX],
    )
    return frozenset([row["name"] async for row in cursor])


async def find_tool(connection: Connection, org_id: str, tool_id: str, *, lock: bool = False) -> PinnedTool:
    """Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM mcp_tools t WHERE t.org_id = %s AND t.tool_id = %s {}").format(
        _COLUMNS, sql.SQL("FOR UPDATE" if lock else "")
    )
    row = await (await connection.execute(query, [org_id, tool_id])).fetchone()
    if row is None:
        raise NotFoundError(f"there is no MCP tool {tool_id}")
    return _tool(row)


async def list_tools(
    connection: Connection,
    org_id: str,
    *,
    server: str | None,
    changed_only: bool,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> ToolPage:
    """Newest first."""
    conditions = [sql.SQL("t.org_id = %(org)s")]
    if server is not None:
        conditions.append(sql.SQL("t.server = %(server)s"))
    if changed_only:
        conditions.append(sql.SQL("t.changed_at IS NOT NULL"))
    where = sql.SQL(" AND ").join(conditions)
    values: dict[str, object] = {"org": org_id, "server": server}
    page = sql.SQL("SELECT {} FROM mcp_tools t WHERE {} {} ORDER BY t.tool_id DESC LIMIT %(limit)s OFFSET %(offset)s")
    query = page.format(_COLUMNS, where, sql.SQL("" if cursor is None else "AND t.tool_id < %(before)s"))
    rows = await (
        await connection.execute(query, {**values, "before": cursor, "limit": limit, "offset": offset})
    ).fetchall()
    source, shown = sql.SQL("mcp_tools t WHERE {}").format(where), Shown(len(rows), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, values, shown, exact=exact_total)
    tools = [_tool(row) for row in rows]
    return ToolPage(tools, total, is_minimum, tools[-1].tool_id if len(tools) == limit else None)


async def accept_seen(connection: Connection, org_id: str, tool_id: str, by: str | None, at: datetime) -> None:
    """What was seen last is what was accepted. The caller holds the row's lock."""
    await connection.execute(
        "UPDATE mcp_tools SET accepted_sha256 = seen_sha256, accepted_definition = seen_definition, accepted_at = %s,"
        " accepted_by = %s, changed_at = NULL WHERE org_id = %s AND tool_id = %s",
        [at, by, org_id, tool_id],
    )


async def delete_tools(connection: Connection, org_id: str, server: str) -> int:
    """All tools of a server; how many there were."""
    deleted = await connection.execute("DELETE FROM mcp_tools WHERE org_id = %s AND server = %s", [org_id, server])
    return deleted.rowcount


def _tool(row: DictRow) -> PinnedTool:
    return PinnedTool(
        org_id=row["org_id"],
        tool_id=row["tool_id"],
        server=row["server"],
        name=row["name"],
        accepted_sha256=bytes(row["accepted_sha256"]),
        accepted_definition=row["accepted_definition"],
        accepted_at=row["accepted_at"],
        accepted_by=row["accepted_by"],
        seen_sha256=bytes(row["seen_sha256"]),
        seen_definition=row["seen_definition"],
        seen_at=row["seen_at"],
        changed_at=row["changed_at"],
    )
