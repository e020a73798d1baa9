"""What the body of an answer says of success: what cannot be read is not taken for it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.executions.success import failure_in_body
from headgate.kernel.canonical_json import JsonValue
from headgate.outgoing.model import OutgoingResponse
from headgate.tools.load import load_catalogues
from headgate.tools.model import Success

_TOOLS = load_catalogues().tools
_SLACK = _TOOLS["slack"]["chat_post_message"].success
_QUERY = _TOOLS["linear"]["get_issue"].success
_MUTATION = _TOOLS["linear"]["create_issue"].success
_CREATED = {"data": {"issueCreate": {"success": True}}}


def _answer(body: bytes, *, is_truncated: bool = False) -> OutgoingResponse:
    return OutgoingResponse(200, (), body, is_truncated, 1.0)


@pytest.mark.parametrize(
    ("success", "body", "is_success"),
    [
        (_SLACK, {"ok": True, "ts": "1"}, True),
        (_SLACK, {"ok": False, "error": "channel_not_found"}, False),
        (_SLACK, {"ok": 1}, False),
        (_SLACK, {"ok": "true"}, False),
        (_SLACK, {}, False),
        (_SLACK, [{"ok": True}], False),
        (_QUERY, {"data": {"issue": {"id": "1"}}}, True),
        (_QUERY, {"data": {"issue": None}, "errors": []}, True),
        (_QUERY, {"data": {"issue": None}, "errors": None}, True),
        (_QUERY, {"data": {"issue": {"id": "1"}}, "errors": [{"message": "no"}]}, False),
        (_QUERY, {"errors": {}}, False),
        (_QUERY, {"errors": "no"}, False),
        (_MUTATION, _CREATED, True),
        (_MUTATION, _CREATED | {"errors": [{"message": "half"}]}, False),
        (_MUTATION, {"data": {"issueCreate": {"success": False}}}, False),
        (_MUTATION, {"data": {"issueCreate": None}}, False),
        (_MUTATION, {"data": None}, False),
        (_MUTATION, {"data": {"issueUpdate": {"success": True}}}, False),
        (None, {"ok": False, "errors": [1]}, True),
    ],
)
def test_what_a_body_says(success: Success | None, body: JsonValue, is_success: bool) -> None:
    assert (failure_in_body(_answer(json.dumps(body).encode()), success) is None) is is_success


def test_what_cannot_be_read_is_unknown() -> None:
    for body in (b"", b"ok", b"{", b'{"ok": true, "ok": false}', b"\xff"):
        failure = failure_in_body(_answer(body), _SLACK)
        assert failure is not None and failure.startswith("outcome unknown")
        assert failure_in_body(_answer(body), None) is None
    truncated = failure_in_body(_answer(b'{"ok": true}', is_truncated=True), _SLACK)
    assert truncated is not None and "longer than is read" in truncated


def test_a_webhook_of_slack_has_no_body_to_ask() -> None:
    assert _TOOLS["slack"]["incoming_webhook"].success is None


@given(st.binary(max_size=50))
def test_any_body_is_judged(body: bytes) -> None:
    for success in (_SLACK, _QUERY, _MUTATION):
        failure_in_body(_answer(body), success)
