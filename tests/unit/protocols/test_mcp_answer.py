"""A tool that fails says so in the body of an answer that HTTP calls a success."""

import pytest

from headgate.protocols.mcp_answer import TOOL_FAILED, failure_in_events, failure_in_message

_FAILED = '{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": true}}'


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        (_FAILED, TOOL_FAILED),
        ('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "a secret"}}', "-32602"),
        ('{"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}', "JSON-RPC error"),
        ('{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": false}}', None),
        ('{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": "true"}}', None),
        ('{"jsonrpc": "2.0", "id": 2, "result": {"isError": true}}', None),
        ('{"jsonrpc": "2.0", "method": "notifications/message"}', None),
        ("[1]", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_one_message(message: str, failure: str | None) -> None:
    found = failure_in_message(message, 1)
    assert found is None if failure is None else failure in (found or "")
    assert "secret" not in (found or "")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_among_other_events(end: str) -> None:
    lines = [
        ": wait", "", 'data: {"jsonrpc": "2.0", "method": "notifications/progress"}', "", "event: message", "id: 7",
        'data: {"jsonrpc": "2.0", "id": 1,', 'data: "result": {"isError": true}}', "", "",
    ]  # fmt: skip
    assert failure_in_events(end.join(lines).encode(), 1) == TOOL_FAILED
    assert failure_in_events(end.join(lines).encode(), "1") is None


def test_bytes_that_are_no_text() -> None:
    assert failure_in_events(b"data: \xff\xfe\n\n", 1) is None
