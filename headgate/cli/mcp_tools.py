"""``headgate mcp-tools``: the tools of MCP servers, and accepting that one has changed."""

import json
from difflib import unified_diff
from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.named_id import MCP_TOOL, id_of
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import McpToolDetailAnswer


@click.group("mcp-tools")
def mcp_tools() -> None:
    """The tools that MCP servers offered, and their accepted definitions."""


@mcp_tools.command("list")
@click.option("--changed", "changed_only", is_flag=True, help="Only tools with a changed definition.")
@click.option("--server", help="Only tools of this server, as actions name it: mcp_tools_example.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, changed_only: bool, server: str | None, limit: int, as_json: bool) -> None:
    """List tools, newest first."""
    answer = client.send(operations.list_mcp_tools, changed=changed_only, server=server, limit=limit)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("none")
        return
    show_table(
        ("ID", "SERVER", "NAME", "STATUS", "SEEN"),
        (
            (one["id"], one["server"], one["name"], "changed" if one["changed_at"] else "accepted", one["seen_at"])
            for one in answer["data"]
        ),
    )


@mcp_tools.command()
@click.argument("tool_id")
@json_option
@client_option
def show(client: ApiClient, tool_id: str, as_json: bool) -> None:
    """Show a tool, and how its definition differs from the accepted one."""
    answer = client.send(operations.get_mcp_tool, id_of(client, MCP_TOOL, tool_id))
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['name'])} of {safe(answer['server'])} ({safe(answer['id'])})")
    click.echo(_difference(answer))


@mcp_tools.command()
@click.argument("tool_id")
@click.option(
    "--sha256", help="Digest of the definition that you have read. Without it, the command shows it and asks."
)
@json_option
@client_option
def accept(client: ApiClient, tool_id: str, sha256: str | None, as_json: bool) -> None:
    """Accept the definition of a changed tool."""
    tool_id = id_of(client, MCP_TOOL, tool_id)
    if sha256 is None:
        shown = client.send(operations.get_mcp_tool, tool_id)
        click.echo(_difference(shown), err=True)
        confirm(f"Accept this definition of {safe(shown['name'])}?", option="--sha256 DIGEST")
        sha256 = shown["seen_sha256"]
    answer = client.send(operations.accept_mcp_tool, tool_id, {"sha256": sha256})
    if as_json:
        show_json(answer)
        return
    click.echo(f"accepted {safe(answer['name'])} of {safe(answer['server'])}")


@mcp_tools.command()
@click.argument("server")
@yes_option
@json_option
@client_option
def forget(client: ApiClient, server: str, yes: bool, as_json: bool) -> None:
    """Forget all tools of a server. The definitions that it lists next are accepted."""
    confirm(f"Forget all tools of {safe(server)} and accept the definitions that are seen next?", yes=yes)
    answer = client.send(operations.delete_mcp_tools, server=server)
    if as_json:
        show_json(answer)
        return
    click.echo(f"forgot {answer['forgotten']} tools of {safe(answer['server'])}")


def _difference(tool: "McpToolDetailAnswer") -> str:
    if tool["seen_sha256"] == tool["accepted_sha256"]:
        return "\n".join(_lines(tool["accepted_definition"]))
    before, after = _lines(tool["accepted_definition"]), _lines(tool["seen_definition"])
    names = (f"accepted {tool['accepted_sha256']}", f"seen {tool['seen_sha256']}")
    return "\n".join(unified_diff(before, after, *names, lineterm=""))


def _lines(definition: object) -> list[str]:
    if definition is None:
        return ["(longer than 32 KiB: not kept)"]
    text = definition if isinstance(definition, str) else json.dumps(definition, indent=2)
    return [safe(line) for line in text.split("\n")]
