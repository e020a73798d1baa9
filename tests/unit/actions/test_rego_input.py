"""What policies read, and what is stored of it."""

from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.kernel.canonical_json import canonical_bytes, parse_strict, sha256_hex
from headgate.kernel.secrets import MASK
from headgate.protocols.draft import Source, make_draft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_BODY = b'{"text":"hi","token":"xoxb-1"}'
_CALL = HttpCall(
    "POST",
    "https",
    "Slack.com",
    443,
    "/api//chat.postMessage/",
    "pretty=1",
    ((b"Authorization", b"Bearer x"), (b"X-Many", b"1"), (b"x-many", b"2"), (b"Content-Type", b"application/json")),
    _BODY,
)
_HTTP = {
    "method": "POST",
    "scheme": "https",
    "host": "slack.com",
    "port": 443,
    "path": "/api/chat.postMessage",
    "query": {"pretty": ["1"]},
    "headers": {"authorization": MASK, "x-many": ["1", "2"], "content-type": "application/json"},
    "body_sha256": sha256_hex(_BODY),
    "body_size": len(_BODY),
    "body_kind": "json",
    "url_bytes": len("https://slack.com/api//chat.postMessage/?pretty=1"),
}


def test_an_intercepted_call() -> None:
    draft = interpret(_CALL, load_catalogues())
    assert parse_strict(rego_input(draft, agent_id="agt_1", agent_name='b"x')) == {
        "tool": "slack",
        "operation": "chat_post_message",
        "effect": "write",
        "source": "proxy",
        "agent": {"id": "agt_1", "name": 'b"x'},
        "params": {"pretty": "1", "text": "hi", "token": "xoxb-1"},
        "context": {},
        "delegation": {},
        "http": _HTTP,
    }


def test_an_intercepted_call_as_it_is_stored() -> None:
    stored = recorded_request(interpret(_CALL, load_catalogues()))
    params = {"pretty": "1", "text": "hi", "token": MASK}
    assert parse_strict(stored) == {"params": params, "effect": "write", "http": _HTTP}
    assert canonical_bytes(parse_strict(stored)) == stored


def test_an_explicit_action_without_a_call() -> None:
    draft = make_draft(
        tool="t",
        operation="o",
        params={"password": "x", "a": 1},
        source=Source.API,
        context=canonical_bytes({"goal": "g", "api_key": "k"}),
        delegation=canonical_bytes({"stepName": "s"}),
    )
    read = parse_strict(rego_input(draft, agent_id="agt_1", agent_name="b"))
    assert read == {
        "tool": "t",
        "operation": "o",
        "effect": None,
        "source": "api",
        "agent": {"id": "agt_1", "name": "b"},
        "params": {"password": "x", "a": 1},
        "context": {"goal": "g", "api_key": "k"},
        "delegation": {"stepName": "s"},
    }
    stored = recorded_request(draft)
    assert parse_strict(stored) == {
        "params": {"password": MASK, "a": 1},
        "context": {"goal": "g", "api_key": MASK},
        "delegation": {"stepName": "s"},
    }
    assert canonical_bytes(parse_strict(stored)) == stored
