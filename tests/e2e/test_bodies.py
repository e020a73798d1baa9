"""What servers read differently never reaches one, and an approval is for the bytes that were approved."""

import hashlib
from typing import Any

import pytest

from tests.e2e.clients import error_of

_BINARY = bytes(range(256)) * 600
_PART = b'Content-Disposition: form-data; name="%b"\r\n\r\n%b'


def _form(boundary: bytes, *parts: bytes) -> dict[str, Any]:
    body = b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + boundary + b"--\r\n"
    return {"content": body, "headers": {"content-type": f"multipart/form-data; boundary={boundary.decode()}"}}


def test_an_approval_under_one_boundary_serves_no_other(administrator, agent, upstream, impatient_path) -> None:
    url = upstream.url + impatient_path
    part = _PART % (b"amount", b"9")
    approved = error_of(agent.call("POST", url, **_form(b"one", part)))["details"]["approval_id"]
    administrator.approve(approved)
    other = error_of(agent.call("POST", url, **_form(b"another", part)))
    assert (other["code"], other["details"]["approval_id"] != approved) == ("APPROVAL_PENDING", True)
    assert agent.call("POST", url, **_form(b"one", part)).status_code == 200
    assert len(upstream.of(impatient_path)) == 1


def test_a_reviewer_sees_every_byte_of_an_upload(administrator, agent, upstream, impatient_path) -> None:
    call = {"content": _BINARY, "headers": {"content-type": "application/octet-stream"}}
    held = error_of(agent.call("POST", upstream.url + impatient_path, **call))["details"]
    shown = administrator.approval(held["approval_id"])["context"]
    assert (shown["unparsed_body"]["is_exact"], shown["unparsed_body"]["size"]) == (True, len(_BINARY))
    assert administrator.api.get(f"/v1/actions/{held['action_id']}/body/content").content == _BINARY
    assert upstream.of(impatient_path) == []
    administrator.approve(held["approval_id"])
    assert agent.call("POST", upstream.url + impatient_path, **call).status_code == 200
    [sent] = upstream.of(impatient_path)
    assert "sha256:" + hashlib.sha256(sent.body).hexdigest() == shown["unparsed_body"]["sha256"]
    verified = administrator.api.post("/admin/audit/verification", json={})
    assert verified.is_success, verified.text


@pytest.mark.parametrize(
    "call",
    [
        _form(b"x", _PART % (b"a", b"1") + b"\n--x\n" + (_PART % (b"amount", b"1000")).replace(b"\r\n", b"\n")),
        {"content": b'{"amount":1,"amount":1000}', "headers": {"content-type": "application/json"}},
        {"content": b'{"amount":9007199254740993}', "headers": {"content-type": "application/json"}},
        {"content": b'{"amount":1}', "headers": {"content-type": "application/json, text/plain"}},
        {"content": b"a=1;amount=1000", "headers": {"content-type": "application/x-www-form-urlencoded"}},
    ],
    ids=["multipart", "duplicate key", "big integer", "list of types", "semicolon"],
)
def test_what_servers_read_differently_is_refused(administrator, agent, upstream, impatient_path, call) -> None:
    response = agent.call("POST", upstream.url + impatient_path, **call)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (400, "REQUEST_AMBIGUOUS")
    page = administrator.api.get(error["details"]["help_url"])
    assert page.status_code == 200 and "REQUEST_AMBIGUOUS" in page.text
    assert upstream.of(impatient_path) == []


def test_json_under_another_label_is_denied_by_the_seeded_policies(agent, upstream) -> None:
    response = agent.call(
        "POST", upstream.url + "/labelled", content=b'{"amount":1000}', headers={"content-type": "text/plain"}
    )
    error = error_of(response)
    assert (response.status_code, error["code"]) == (403, "ACTION_DENIED")
    assert "send Content-Type: application/json" in error["message"]
    assert upstream.of("/labelled") == []
