"""Refusals as clients of gRPC, gRPC-Web and Connect read them."""

import base64
import json
from datetime import UTC, datetime

import pytest
from mitmproxy.http import Request, Response

from addons.grpc_refusal import in_callers_form
from addons.refusal import refusal_response
from headgate.gate.refusals import ApprovalPendingError
from headgate.kernel.errors import HeadgateError, ProtocolRefusedError, UnavailableError
from headgate.protocols.protobuf_numbers import NumberReader

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PENDING = ApprovalPendingError("held", details={"approval_id": "apr_1"})


def refused(error: HeadgateError, content_type: str, **headers: str) -> Response:
    request = Request.make("POST", "https://a.example/e.Echo/Say", b"", {"content-type": content_type, **headers})
    response = refusal_response(error, request_id="req_1", now=NOW, head=False, help_url=None)
    return in_callers_form(request, error, response)


def info(encoded: str) -> object:
    """The reason, and the metadata, of an ErrorInfo without its base64 padding."""
    fields = NumberReader().read(base64.b64decode(encoded + "=" * (-len(encoded) % 4)))
    [reason], [entry] = fields["1"], fields["3"]  # type: ignore[misc]
    members = entry["message"]  # type: ignore[index, call-overload]
    return reason["text"], members["1"][0]["text"], members["2"][0]["text"]  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    "content_type", ["application/grpc", "application/grpc+proto", "application/grpc-web", "application/grpc-web-text"]
)
@pytest.mark.parametrize(
    ("error", "code"), [(PENDING, "14"), (UnavailableError("later"), "14"), (ProtocolRefusedError("no"), "12")]
)
def test_grpc(content_type: str, error: HeadgateError, code: str) -> None:
    response = refused(error, content_type)
    assert (response.status_code, response.headers["content-type"]) == (200, content_type)
    assert (response.headers["grpc-status"], response.raw_content) == (code, b"")
    assert error.message in response.headers["grpc-message"]
    assert response.headers["x-request-id"] == "req_1"


@pytest.mark.parametrize(
    ("content_type", "headers"),
    [("application/json", {"connect-protocol-version": "1"}), ("application/proto", {})],
)
def test_a_unary_call_of_connect(content_type: str, headers: dict[str, str]) -> None:
    response = refused(PENDING, content_type, **headers)
    assert (response.status_code, response.headers["content-type"]) == (403, "application/json")
    said = json.loads(response.content or b"")
    assert (said["code"], said["error"]["code"]) == ("unavailable", "APPROVAL_PENDING")
    [detail] = said["details"]
    assert detail["type"] == "google.rpc.ErrorInfo"
    assert info(detail["value"]) == ("APPROVAL_PENDING", "approval_id", "apr_1")


@pytest.mark.parametrize("codec", ["proto", "json"])
def test_a_stream_of_connect_ends_with_the_reason(codec: str) -> None:
    response = refused(PENDING, f"application/connect+{codec}", **{"connect-protocol-version": "1"})
    assert (response.status_code, response.headers["content-type"]) == (200, f"application/connect+{codec}")
    body = response.content or b""
    assert (body[0], int.from_bytes(body[1:5], "big")) == (2, len(body) - 5)
    said = json.loads(body[5:])["error"]
    assert said["code"] == "unavailable"
    assert "held" in said["message"]
    assert info(said["details"][0]["value"]) == ("APPROVAL_PENDING", "approval_id", "apr_1")


def test_other_calls_are_answered_by_http() -> None:
    assert refused(PENDING, "application/json").status_code == 403
    assert "grpc-status" not in refused(PENDING, "application/octet-stream").headers
