"""Messages to language models over WebSockets: what is recognised, and what stays a message."""

import json

import pytest

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import read_body
from headgate.protocols.draft import ReadCall, make_read_call
from headgate.protocols.headers import read_headers
from headgate.protocols.http_call import HttpCall
from headgate.protocols.llm_socket import recognise
from headgate.protocols.query import parse_pairs
from headgate.protocols.websocket import message_draft

_OPENAI = "api.openai.com"
_MODEL: JsonObject = {"model": ["gpt-realtime"]}
_FUNCTION: JsonObject = {"type": "function", "name": "pay", "parameters": {}}
_RESPONSE: JsonObject = {"type": "response.create", "model": "gpt-5", "input": [{"role": "user", "content": "hi"}]}
_OUTPUT: JsonObject = {"type": "function_call_output", "call_id": "c1", "output": "42 EUR"}


@pytest.mark.parametrize(
    ("path", "query", "message", "expected"),
    [
        (
            "/v1/responses",
            {},
            {**_RESPONSE, "tools": [_FUNCTION], "instructions": "Be kind.", "max_output_tokens": 100},
            {"api": "responses", "model": "gpt-5", "messages": 1, "tools": ["pay"], "system": True, "max_tokens": 100},
        ),
        (
            "/v1/realtime",
            _MODEL,
            {"type": "session.update", "session": {"instructions": "x", "tools": [_FUNCTION, {"type": "mcp"}]}},
            {"api": "realtime", "model": "gpt-realtime", "messages": 0, "tools": ["pay", "mcp"], "system": True},
        ),
        (
            "/v1/realtime",
            _MODEL,
            {"type": "conversation.item.create", "item": _OUTPUT},
            {
                "messages": 1,
                "tool_results": [{"id": "c1", "name": None, "text": "42 EUR", "characters": 6}],
                "event": "conversation.item.create",
            },
        ),
        (
            "/v1/realtime",
            _MODEL,
            {"type": "response.create", "response": {"input": [_OUTPUT], "max_output_tokens": 7}},
            {"messages": 1, "max_tokens": 7, "stream": True},
        ),
        ("/v1/realtime", _MODEL, {"type": "response.create"}, {"messages": 0, "tools": []}),
        ("/v1/realtime", _MODEL, {"type": "input_audio_buffer.append", "audio": "AAAA"}, {"messages": 0}),
        ("/v1/realtime", _MODEL, {"type": "session.update", "session": {"model": "other"}}, {"model": "other"}),
        ("/v1/realtime", {"intent": ["transcription"]}, {"type": "response.cancel"}, {"model": ""}),
        ("/v1/responses", {}, {"type": "response.processed", "response_id": "r"}, {"model": "", "messages": 0}),
        (
            "/v1/responses",
            {},
            {**_RESPONSE, "input": [{"type": "additional_tools", "tools": [{"type": "mcp"}, _FUNCTION]}]},
            {"tools": ["mcp", "pay"]},
        ),
    ],
)
def test_what_is_asked_of_the_model(
    path: str, query: JsonObject, message: JsonObject, expected: dict[str, JsonValue]
) -> None:
    facts = recognise(_OPENAI, path, query, message)
    assert facts is not None
    assert {name: facts[name] for name in expected} == expected
    assert (facts["provider"], facts["event"]) == ("openai", message["type"])


@pytest.mark.parametrize(
    ("host", "path", "provider"),
    [
        ("chatgpt.com", "/backend-api/codex/responses", "openai"),
        ("acme.openai.azure.com", "/openai/v1/responses", "azure"),
        ("models.example", "/v1/responses", "compatible"),
    ],
)
def test_the_provider_is_told_by_the_address(host: str, path: str, provider: str) -> None:
    facts = recognise(host, path, {}, _RESPONSE)
    assert facts is not None
    assert facts["provider"] == provider


def test_a_deployment_of_azure_names_the_model() -> None:
    facts = recognise("acme.openai.azure.com", "/openai/realtime", {"deployment": ["gpt"]}, {"type": "response.cancel"})
    assert facts is not None
    assert facts["model"] == "gpt"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/v1/other", _RESPONSE),
        ("/v2/responses", _RESPONSE),
        ("/v1/responses", {**_RESPONSE, "type": "response.steer"}),
        ("/v1/responses", {**_RESPONSE, "model": 7}),
        ("/v1/responses", {**_RESPONSE, "input": [7]}),
        ("/v1/responses", {"model": "m", "input": "x"}),
        ("/v1/responses", [_RESPONSE]),
        ("/v1/realtime", {"type": "session.destroy"}),
        ("/v1/realtime", {"type": 7}),
        ("/v1/realtime", {"type": "session.update", "session": []}),
        ("/v1/realtime", {"type": "session.update", "session": {"model": 7}}),
        ("/v1/realtime", {"type": "session.update", "session": {"model": "m" * 257}}),
        ("/v1/realtime", {"type": "conversation.item.create", "item": "x"}),
        ("/v1/realtime", {"type": "response.create", "response": {"input": "x"}}),
        ("/v1/realtime", {"type": "response.create", "response": {"input": [7]}}),
    ],
)
def test_what_fits_no_documented_event_stays_a_message(path: str, message: JsonValue) -> None:
    assert recognise(_OPENAI, path, _MODEL, message) is None


@pytest.mark.parametrize(
    "query", [{"model": ["one", "two"]}, {"model": ["m"], "deployment": ["m"]}, {"call_id": ["c"]}]
)
def test_a_session_of_two_models_or_of_somebody_elses_call_is_no_session(query: JsonObject) -> None:
    assert recognise(_OPENAI, "/v1/realtime", query, {"type": "response.create"}) is None


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("chatgpt.com", "/backend-api/codex/realtime"),
        ("chatgpt.com", "/v1/responses"),
        ("api.anthropic.com", "/v1/responses"),
        ("acme.openai.azure.com", "/openai/deployments/gpt/realtime"),
        ("generativelanguage.googleapis.com", "/v1/realtime"),
        ("europe-west4-aiplatform.googleapis.com", "/v1/realtime"),
    ],
)
def test_an_address_that_no_reference_documents_is_none(host: str, path: str) -> None:
    assert recognise(host, path, {}, _RESPONSE) is None
    assert recognise(host, path, {"model": ["m"]}, {"type": "response.create"}) is None


def _handshake(path: str, query: str) -> ReadCall:
    call = HttpCall("GET", "https", _OPENAI, 443, path, query, ((b"upgrade", b"websocket"),), b"")
    body = read_body(b"", "", ())
    return make_read_call(call, path, parse_pairs(query, field="query"), read_headers(call.headers), body)


def test_policies_read_it_beside_the_message() -> None:
    handshake = _handshake("/v1/realtime", "model=gpt-realtime")
    sent = {"type": "session.update", "session": {"tools": [_FUNCTION]}}
    draft = message_draft(handshake, json.dumps(sent).encode(), is_text=True)
    assert (draft.tool, draft.operation, draft.params["message"]) == ("websocket", "send", sent)
    assert draft.facts is not None
    assert draft.facts.member == "llm"
    shown = parse_strict(draft.facts.shown)
    assert isinstance(shown, dict)
    assert (shown["model"], shown["tools"]) == ("gpt-realtime", ["pay"])


@pytest.mark.parametrize(
    ("content", "is_text"),
    [(b'{"type": "response.cancel"}', False), (b'{"type": "a", "type": "response.cancel"}', True)],
)
def test_what_parsers_may_read_differently_is_no_event(content: bytes, is_text: bool) -> None:
    assert message_draft(_handshake("/v1/realtime", "model=m"), content, is_text=is_text).facts is None


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/v1/realtime", {"type": "response.cancel", "Type": "session.update", "session": {}}),
        ("/v1/realtime", {"type": "session.update", "session": {"tools": [_FUNCTION], "Tools": []}}),
        ("/v1/responses", {**_RESPONSE, "Model": "dear"}),
        ("/v1/responses", {**_RESPONSE, "input": [{"role": "user", "Role": "tool", "content": "hi"}]}),
    ],
)
def test_a_member_in_another_spelling_is_refused(path: str, sent: JsonObject) -> None:
    with pytest.raises(AmbiguousRequestError):
        message_draft(_handshake(path, "model=m"), json.dumps(sent).encode(), is_text=True)
