"""What the answer to a tool's call says of its success (MCP, "Tools", "Error Handling"): HTTP says 200 either way.

Pure. Lenient, unlike the reading of requests: nothing is decided by it, it is what the record says of the outcome.
"""

import json
from typing import Final

from headgate.protocols.mcp_exchange import McpId

TOOL_FAILED: Final = "the tool says that it failed (isError)"


def failure_in_message(message: str | bytes, request_id: McpId) -> str | None:
    """Why the call failed, where this JSON-RPC message is the answer to it and says that it did."""
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("id") != request_id:
        return None
    error, result = value.get("error"), value.get("result")
    if isinstance(error, dict):
        code = error.get("code")
        return f"the server answered with JSON-RPC error {code}" if isinstance(code, int) else "JSON-RPC error"
    return TOOL_FAILED if isinstance(result, dict) and result.get("isError") is True else None


def failure_in_events(events: bytes, request_id: McpId) -> str | None:
    """The same of whole server-sent events (the HTML standard, "Interpreting an event stream")."""
    data: list[str] = []
    for line in [*events.decode("utf-8", "replace").splitlines(), ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            failure = failure_in_message("\n".join(data), request_id)
            if failure is not None:
                return failure
            data = []
    return None
