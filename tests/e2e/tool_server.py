"""An MCP server of the official SDK, over TLS on loopback: ``serving`` starts it in a thread."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from mcp.server.fastmcp import FastMCP

from tests.e2e.waiting import wait_for
from tests.free_port import free_port


def _server(calls: list[str]) -> FastMCP:
    with warnings.catch_warnings():
        # The SDK's settings name a type that pydantic-settings cannot resolve; nothing here uses it.
        warnings.simplefilter("ignore", UserWarning)
        server = FastMCP("tests")

    @server.tool()
    def save_file(path: str) -> str:
        """Saves a file."""
        calls.append(path)
        return f"saved {path}"

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError("no such folder")

    return server


@dataclass(frozen=True)
class ToolServer:
    """``calls``: the paths that ``save_file`` was called with."""

    url: str
    calls: list[str]
    mcp: FastMCP

    def describe(self, tool: str, description: str) -> None:
        """What the next list says of the tool."""
        found = self.mcp._tool_manager.get_tool(tool)
        assert found is not None
        found.description = description


@contextmanager
def serving(certificate: Path) -> Iterator[ToolServer]:
    calls: list[str] = []
    port, mcp = free_port(), _server(calls)
    config = uvicorn.Config(mcp.streamable_http_app(), "127.0.0.1", port, ssl_certfile=certificate, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the MCP server")
    try:
        yield ToolServer(f"https://127.0.0.1:{port}/mcp", calls, mcp)
    finally:
        server.should_exit = True
        thread.join(30)
