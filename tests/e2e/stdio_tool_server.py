"""An MCP server of the official SDK on standard input and output; a program: ``python stdio_tool_server.py LOG``."""

import os
import sys
import warnings
from pathlib import Path

from mcp.server.fastmcp import Context, FastMCP

with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # as in tests.e2e.tool_server
    server = FastMCP("stdio tests")


@server.tool()
def save_file(path: str) -> str:
    """Saves a file."""
    with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
        log.write(path + "\n")
    return f"saved {path}"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no such folder")


@server.tool()
def environment() -> str:
    """The names of Headgate's variables that the server sees."""
    return ",".join(sorted(name for name in os.environ if name.startswith("HEADGATE_")))


@server.tool()
async def ask_for_roots(context: Context) -> str:  # type: ignore[type-arg] - the SDK's own use
    """Asks the client for its roots."""
    answer = await context.session.list_roots()
    return ",".join(str(root.uri) for root in answer.roots)


@server.tool()
def describe(tool: str, description: str) -> str:
    """Changes what the next list says of a tool."""
    found = server._tool_manager.get_tool(tool)
    assert found is not None
    found.description = description
    return "described"


@server.tool()
def end() -> str:
    """Ends the server in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    server.run("stdio")
