"""Pages name the port of a call where it says something, and call a message of a WebSocket a message."""

import pytest

from admin_api.actions.search_routes import RequestLineAnswer
from admin_api.pages import _TEMPLATES

_SHOWN = _TEMPLATES.from_string("{{ line.method | sent_as(tool, operation) }} {{ line | authority }}{{ line.path }}")


@pytest.mark.parametrize(
    ("tool", "operation", "port", "shown"),
    [
        ("http", "get", 443, "GET api.example.com/a"),
        ("http", "get", 8443, "GET api.example.com:8443/a"),
        ("websocket", "connect", 443, "GET api.example.com/a"),
        ("websocket", "send", 8443, "message api.example.com:8443/a"),
    ],
)
def test_a_request_line(tool: str, operation: str, port: int, shown: str) -> None:
    line = RequestLineAnswer(method="GET", scheme="https", host="api.example.com", port=port, path="/a")
    for given in (line, line.model_dump()):
        assert _SHOWN.render(line=given, tool=tool, operation=operation) == shown
