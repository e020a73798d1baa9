"""Protocols that ride on HTTP: the action that each becomes, what policies read of it, and what is stored."""

import json
from pathlib import Path

import pytest

from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.explicit import explicit_draft
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue, load_catalogues
from headgate.tools.match import CatalogueIndex
from headgate.tools.recognised import RECOGNISED_TOOLS

_CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "api_key": "k"}
_FACTS = {
    "provider": "openai",
    "api": "chat_completions",
    "model": "m",
    "models": ["m"],
    "stream": False,
    "messages": 1,
    "system": False,
    "max_tokens": None,
    "tools": [],
    "tool_results": [],
}


def _completion(body: object = _CHAT, **changes: object) -> ActionDraft:
    values: dict[str, object] = {
        "method": "POST",
        "scheme": "https",
        "host": "api.openai.com",
        "port": 443,
        "path": "/v1/chat/completions",
        "query": "",
        "headers": ((b"Content-Type", b"application/json"),),
        "body": json.dumps(body).encode(),
        **changes,
    }
    return interpret(HttpCall(**values), CatalogueIndex([]))  # type: ignore[arg-type] # a table of changes


def test_a_completion_keeps_the_params_of_the_generic_call() -> None:
    draft = _completion()
    assert (draft.tool, draft.operation, draft.effect) == ("llm", "chat", Effect.WRITE)
    assert (draft.params["host"], draft.params["body"]) == ("api.openai.com", _CHAT)
    read = parse_strict(rego_input(draft, agent_id="agt_1", agent_name="b"))
    assert isinstance(read, dict) and read["llm"] == _FACTS


def test_it_is_stored_with_what_policies_read_in_canonical_order_and_masked() -> None:
    stored = recorded_request(_completion())
    request = parse_strict(stored)
    assert isinstance(request, dict) and request["llm"] == _FACTS
    assert canonical_bytes(request) == stored
    assert b'"k"' not in stored


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "PUT"},
        {"headers": ((b"Content-Type", b"text/plain"),)},
        {"headers": ()},
        {"body": ["model"]},
        {"path": "/v1/files"},
    ],
)
def test_every_other_call_stays_generic(changes: dict[str, object]) -> None:
    draft = _completion(**changes)
    assert (draft.tool, draft.facts) == ("http", None)


def test_a_catalogue_decides_first() -> None:
    body = json.dumps(_CHAT).encode()
    headers = ((b"Content-Type", b"application/json"),)
    call = HttpCall("POST", "https", "api.github.com", 443, "/v1/chat/completions", "", headers, body)
    assert interpret(call, load_catalogues()).tool == "github"


@pytest.mark.parametrize("tool", sorted(RECOGNISED_TOOLS))
def test_no_catalogue_takes_the_name(tool: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"tool: {tool}\ndescription: x\nhosts: [a.example]\nentries: []\n")
    with pytest.raises(ValidationError, match="reserved"):
        load_catalogue(file)


def test_an_explicit_action_is_the_same_call() -> None:
    params = {"url": "https://api.openai.com/v1/chat/completions", "body": _CHAT}
    catalogue = CatalogueIndex([])
    draft = explicit_draft("llm", "chat", params, catalogue, context=b"{}", delegation=b"{}")
    assert draft.facts is not None and parse_strict(draft.facts.shown) == _FACTS
    with pytest.raises(ValidationError, match=r"llm\.chat, not http\.post"):
        explicit_draft("http", "post", params, catalogue, context=b"{}", delegation=b"{}")


_QUERY = "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB"  # RFC 8484, section 4.1.1
_LOOKUP: dict[str, object] = {
    "method": "GET",
    "host": "dns.example",
    "path": "/dns-query",
    "query": f"dns={_QUERY}",
    "headers": (),
    "body": b"",
}
_UPGRADE = ((b"Connection", b"Upgrade"), (b"Upgrade", b"websocket"), (b"Sec-WebSocket-Version", b"13"))


def _lookup(**changes: object) -> ActionDraft:
    values = {"scheme": "https", "port": 443, **_LOOKUP, **changes}
    return interpret(HttpCall(**values), CatalogueIndex([]))  # type: ignore[arg-type] # a table of changes


def test_a_dns_query_is_a_write_and_stored_in_canonical_order() -> None:
    draft = _lookup()
    assert (draft.tool, draft.operation, draft.effect) == ("dns", "query", Effect.WRITE)
    expected = {"form": "message", "name": "www.example.com", "type": "A", "trailing_bytes": 0}
    read = parse_strict(rego_input(draft, agent_id="agt_1", agent_name="b"))
    stored = recorded_request(draft)
    assert isinstance(read, dict) and read["dns"] == expected
    request = parse_strict(stored)
    assert isinstance(request, dict) and request["dns"] == expected
    assert canonical_bytes(request) == stored


def test_a_dns_query_that_asks_for_a_websocket_is_refused() -> None:
    with pytest.raises(AmbiguousRequestError, match="as a DNS query and as the handshake"):
        _lookup(headers=_UPGRADE)
    assert _lookup(query="", headers=_UPGRADE).tool == "websocket"


def test_an_explicit_dns_query_is_the_same_call() -> None:
    params = {"url": f"https://dns.example/dns-query?dns={_QUERY}"}
    catalogue = CatalogueIndex([])
    draft = explicit_draft("dns", "query", params, catalogue, context=b"{}", delegation=b"{}")
    assert draft.call is not None and draft.call.method == "GET"
    assert draft.facts == _lookup().facts
    with pytest.raises(ValidationError, match=r"dns\.query, not http\.get"):
        explicit_draft("http", "get", params, catalogue, context=b"{}", delegation=b"{}")


@pytest.mark.parametrize(
    ("tool", "operation", "params"),
    [
        ("jsonrpc", "eth_call", {"body": {"jsonrpc": "2.0", "id": 1, "method": "eth_call"}}),
        ("a2a", "a2a_tasks_get", {"body": {"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}}),
    ],
)
def test_an_explicit_procedure_call_is_the_same_call(tool: str, operation: str, params: dict[str, object]) -> None:
    catalogue, sent = CatalogueIndex([]), {"url": "https://partner.example/rpc", **params}
    draft = explicit_draft(tool, operation, sent, catalogue, context=b"{}", delegation=b"{}")  # type: ignore[arg-type] # JSON
    assert draft.call is not None
    assert (draft.tool, draft.operation, draft.call.host) == (tool, operation, "partner.example")


def test_an_explicit_request_for_a_card() -> None:
    params = {"url": "https://partner.example/.well-known/agent-card.json"}
    catalogue = CatalogueIndex([])
    draft = explicit_draft("a2a", "a2a_agent_card", params, catalogue, context=b"{}", delegation=b"{}")  # type: ignore[arg-type] # JSON
    assert draft.call is not None
    assert (draft.call.method, draft.effect) == ("GET", Effect.READ)
