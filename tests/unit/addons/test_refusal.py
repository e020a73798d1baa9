"""Refusals are readable, and nothing that an agent sent can break out of them."""

import json
from datetime import UTC, datetime

import pytest

from addons.refusal import reason_phrase, refusal_for_mcp, refusal_response
from headgate.kernel.errors import (
    HTTP_STATUS,
    AgentUnauthorizedError,
    DestinationBlockedError,
    ErrorCode,
    HeadgateError,
    RateLimitedError,
)

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


class PendingError(HeadgateError):
    code = ErrorCode.APPROVAL_PENDING


def test_the_nested_shape_of_the_specification() -> None:
    error = PendingError("waits for a human", details={"approval_id": "apr_1"}, retry_after_seconds=10)
    response = refusal_response(error, request_id="r1", now=NOW)
    assert response.status_code == 403
    assert response.reason == "Held for approval apr_1"
    assert response.headers["retry-after"] == "10"
    assert response.headers["x-should-retry"] == "true"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-request-id"] == "r1"
    body = response.raw_content
    assert body is not None
    assert response.headers["content-length"] == str(len(body))
    assert json.loads(body) == {
        "error": {
            "code": "APPROVAL_PENDING",
            "message": "waits for a human",
            "details": {"approval_id": "apr_1"},
            "timestamp": "2026-11-21T08:00:00.000000Z",
            "requestId": "r1",
        }
    }


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_has_a_status_and_a_phrase(code) -> None:
    error = type("Some", (HeadgateError,), {"code": code})("m")
    response = refusal_response(error, request_id="", now=NOW)
    assert response.status_code == HTTP_STATUS[code] >= 400
    assert response.reason


def test_407_says_how_to_authenticate() -> None:
    response = refusal_response(AgentUnauthorizedError("no key"), request_id="", now=NOW)
    assert response.status_code == 407
    assert response.headers["proxy-authenticate"].startswith('Basic realm="headgate"')


def test_no_body_for_head() -> None:
    response = refusal_response(PendingError("m"), request_id="", now=NOW, head=True)
    assert (response.raw_content, response.headers["content-length"]) == (b"", "0")


HOSTILE = "apr_1\r\nSet-Cookie: a=b\r\n\r\n<script>é\ud800\0" + "x" * 500


def test_hostile_text_stays_in_its_place() -> None:
    error = PendingError(HOSTILE, details={"approval_id": HOSTILE, "other": HOSTILE})
    for response in (
        refusal_response(error, request_id=HOSTILE, now=NOW),
        refusal_response(error, request_id="", now=NOW, reason=HOSTILE),
    ):
        reason = response.data.reason
        assert reason.isascii() and len(reason) <= 160
        for _, value in response.headers.fields:
            assert b"\r" not in value and b"\n" not in value and b"\0" not in value
        assert b"\r" not in reason and b"\n" not in reason
        content = response.raw_content
        assert content is not None and content.isascii()
        assert json.loads(content)["error"]["message"] == HOSTILE


def test_retry_after_only_where_it_is_known() -> None:
    blocked = refusal_response(DestinationBlockedError("m"), request_id="", now=NOW)
    assert {"retry-after", "x-should-retry"}.isdisjoint(blocked.headers)
    limited = RateLimitedError("m", retry_after_seconds=3)
    assert refusal_response(limited, request_id="", now=NOW).headers["retry-after"] == "3"


def test_the_page_about_the_call_is_in_the_details_of_each_form() -> None:
    error, url = PendingError("m", details={"action_id": "act_1"}), "https://gate.example/calls/act_1"
    plain = json.loads(refusal_response(error, request_id="r", now=NOW, help_url=url).raw_content or b"")
    rpc = json.loads(refusal_for_mcp(1, error, request_id="r", now=NOW, help_url=url).raw_content or b"")
    for body in (plain, rpc["error"]["data"]):
        assert body["error"]["details"] == {"action_id": "act_1", "help_url": url}
    without = json.loads(refusal_response(error, request_id="r", now=NOW).raw_content or b"")
    assert without["error"]["details"] == {"action_id": "act_1"}


@pytest.mark.parametrize("rpc_id", [1, "a", None])
def test_an_mcp_call_is_answered_with_an_error_and_no_result(rpc_id) -> None:
    response = refusal_for_mcp(rpc_id, PendingError("waits", details={"approval_id": "apr_1"}), request_id="r", now=NOW)
    content = response.raw_content
    assert content is not None
    body = json.loads(content)
    assert (body["jsonrpc"], body["id"]) == ("2.0", rpc_id)
    assert "result" not in body
    assert body["error"]["code"] == -32000
    assert "apr_1" in body["error"]["message"]
    assert body["error"]["data"]["error"]["code"] == "APPROVAL_PENDING"


def test_reason_phrase_names_the_action_where_there_is_no_approval() -> None:
    assert reason_phrase(PendingError("m", details={"action_id": "act_1"})) == "Held for approval act_1"
    assert reason_phrase(PendingError("m", details={"action_id": 1})) == "Held for approval"
