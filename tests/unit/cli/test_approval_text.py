"""Lists of approval requests name the call, and its port unless that is the scheme's own."""

from typing import Any

import pytest

from headgate.cli.approval_text import call_text


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"scheme": "https", "host": "api.example.com", "port": 443, "path": "/a"}, "http.get api.example.com/a"),
        ({"scheme": "https", "host": "api.example.com", "port": 8443, "path": "/a"}, "http.get api.example.com:8443/a"),
        ({"host": "api.example.com", "port": 80}, "http.get api.example.com"),
        ({"host": "10.0.0.7"}, "http.get 10.0.0.7"),
        ({"host": {"odd": 1}, "port": 8443}, "http.get"),
    ],
)
def test_a_call(params: dict[str, Any], shown: str) -> None:
    assert call_text({"tool": "http", "operation": "get", "params": params}) == shown
