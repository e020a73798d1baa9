"""The same call written another way escapes neither its policy nor its approval.

What is refused as ambiguous by itself is tested at the proxy; here are a policy and an approval in force.
"""

import gzip
import json
from urllib.parse import urlsplit

import pytest

from tests.e2e.clients import Agent, error_of

PAYMENT = {"to": "Globex", "amount": 9000}

SPELLINGS = {
    "duplicate slash": "/{parent}//secret",
    "leading slashes": "//{parent}/secret",
    "trailing slash": "/{parent}/secret/",
    "encoded letter": "/{parent}/%73ecret",
    "dot segment": "/{parent}/./secret",
    "dot segments": "/{parent}/x/../secret",
    "encoded dots": "/{parent}/x/%2e%2e/secret",
    "encoded slash": "/{parent}%2Fsecret",
    "backslash": "/{parent}\\secret",
    "empty query": "/{parent}/secret?",
    "query": "/{parent}/secret?x=1",
    "fragment": "/{parent}/secret#x",
}


def send(agent: Agent, origin: str, target: str, *, method: str = "GET", headers: str = "", body: bytes = b"") -> bytes:
    """Exactly these bytes, as no well-behaved client writes them; returns the answer's head and what follows."""
    lines = f"{method} {target} HTTP/1.1\r\nHost: {urlsplit(origin).netloc}\r\nConnection: close\r\n{headers}"
    if body:
        lines += f"Content-Length: {len(body)}\r\n"
    with agent.tunnel(origin) as secure:
        secure.sendall(lines.encode("latin-1") + b"\r\n" + body)
        received = b""
        while piece := secure.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_another_spelling_of_a_denied_path(administrator, agent, upstream, path, spelling) -> None:
    parent = path.strip("/")
    rego = f'package e2e.secret\n\ndeny contains "secret" if input.http.path == "{path}/secret"\n'
    before = len(upstream.received)
    with administrator.policy(rego):
        assert send(agent, upstream.url, f"{path}/secret").startswith(b"HTTP/1.1 403 Denied by policy")
        answer = send(agent, upstream.url, spelling.format(parent=parent))
        assert answer.split()[1] in (b"400", b"403"), answer
        assert b"ACTION_DENIED" in answer or b"REQUEST_AMBIGUOUS" in answer
    assert len(upstream.received) == before


@pytest.mark.parametrize(
    ("target", "headers", "body"),
    [
        ("", "X-HTTP-Method-Override: DELETE\r\n", b""),
        ("", "X.HTTP.Method.Override: DELETE\r\n", b""),
        ("?_method=DELETE", "", b""),
        ("?.method=DELETE", "", b""),
        ("?_HttpMethod=DELETE", "", b""),
        ("", "Content-Type: application/x-www-form-urlencoded\r\n", b"_method=DELETE"),
        ("", "Content-Type: application/json\r\n", b'{"_method": "DELETE"}'),
    ],
    ids=["header", "header of one variable", "query", "member of one variable", "Salesforce", "form", "JSON"],
)
def test_a_deletion_in_a_harmless_method(agent, upstream, path, target, headers, body) -> None:
    method = "POST" if body else "GET"
    answer = send(agent, upstream.url, path + target, method=method, headers=headers, body=body)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"REQUEST_AMBIGUOUS" in answer
    assert upstream.of(path) == []


APPROVED = json.dumps(PAYMENT).encode()
OTHER_BODIES = {
    "keys in another order": (b'{"amount": 9000, "to": "Globex"}', ""),
    "white space": (b'{"to":"Globex","amount":9000}', ""),
    "an escaped letter": (b'{"to": "\\u0047lobex", "amount": 9000}', ""),
    "another number that looks the same": (b'{"to": "Globex", "amount": 9000.0}', ""),
    "a duplicate key": (b'{"to": "Globex", "amount": 9000, "amount": 1}', ""),
    "a byte-order mark": (b"\xef\xbb\xbf" + APPROVED, ""),
    "gzip": (gzip.compress(APPROVED), "Content-Encoding: gzip\r\n"),
    "one more header": (APPROVED, "X-Account: 2\r\n"),
}


@pytest.mark.parametrize(("body", "headers"), OTHER_BODIES.values(), ids=OTHER_BODIES.keys())
def test_another_spelling_of_an_approved_call(administrator, agent, upstream, impatient_path, body, headers) -> None:
    json_type = "Content-Type: application/json\r\n"
    approved = error_of_raw(send(agent, upstream.url, impatient_path, method="POST", headers=json_type, body=APPROVED))
    approval_id = approved["details"]["approval_id"]
    administrator.approve(approval_id)
    error = error_of_raw(
        send(agent, upstream.url, impatient_path, method="POST", headers=json_type + headers, body=body)
    )
    if error["code"] == "APPROVAL_PENDING":
        assert error["details"]["approval_id"] != approval_id
    else:
        assert error["code"] == "REQUEST_AMBIGUOUS"
    assert upstream.of(impatient_path) == []
    assert administrator.approval(approval_id)["used_at"] is None
    # The call that was approved is still the one that goes through, to the byte.
    answer = send(agent, upstream.url, impatient_path, method="POST", headers=json_type, body=APPROVED)
    assert answer.startswith(b"HTTP/1.1 200")
    [received] = upstream.of(impatient_path)
    assert received.body == APPROVED


@pytest.mark.parametrize("target", ["{path}/", "/{path}", "{path}?", "{path}?dry_run=1"])
def test_another_target_of_an_approved_call(administrator, agent, upstream, impatient_path, target) -> None:
    first = error_of(agent.call("POST", upstream.url + impatient_path))["details"]["approval_id"]
    administrator.approve(first)
    before = len(upstream.received)
    answer = send(
        agent, upstream.url, target.format(path=impatient_path), method="POST", headers="Content-Length: 0\r\n"
    )
    assert answer.split()[1] in (b"400", b"403"), answer
    assert len(upstream.received) == before
    assert administrator.approval(first)["used_at"] is None


def error_of_raw(answer: bytes):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
