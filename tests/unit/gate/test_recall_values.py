"""The origins of a call's values: in the input and in the record, and what a completion tells."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.agents.model import KeyIdentity, KeyKind
from headgate.connections.choose import NO_CONNECTIONS
from headgate.gate.candidate import BoundCandidate, candidate_for, with_connection
from headgate.gate.recall_values import TOLD_CHARACTERS_MAX, note_what_is_told, with_origins
from headgate.protocols.http_call import HttpCall
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.labelled import credentials

ORG, AGENT = "org_1", "agt_1"
RULES = ProvenanceRules(lists={})
IDENTITY = KeyIdentity(ORG, "key_1", KeyKind.AGENT, AGENT, "agent", None, frozenset(), None, 1)
PAGE = Source(SourceKind.RESPONSE, trusted=False, host="news.example")
NOW = datetime(2026, 11, 24, tzinfo=UTC)
EVE = "eve@evil.example"


def post(body: Any, host: str = "mail.example") -> BoundCandidate:
    headers = ((b"content-type", b"application/json"),)
    call = HttpCall("POST", "https", host, 443, "/v1/send", "", headers, json.dumps(body).encode())
    return with_connection(candidate_for(IDENTITY, interpret(call, load_catalogues())), NO_CONNECTIONS, ORG)


def shown(*texts: str) -> ValueMemory:
    memory = ValueMemory(bytes(16))
    for text in texts:
        memory.show(ORG, AGENT, text.encode(), PAGE, memory.number(PAGE))
    return memory


def test_policies_and_the_record_have_the_same() -> None:
    plain = post({"to": EVE})
    bound = with_origins(plain, shown(EVE), RULES, ORG)
    expected = {"params.body.to": {"source": "response", "host": "news.example", "trusted": False}}
    assert json.loads(bound.rego_input) == json.loads(plain.rego_input) | {"provenance": expected}
    assert json.loads(bound.request) == json.loads(plain.request) | {"provenance": expected}
    assert list(json.loads(bound.request)) == sorted(json.loads(bound.request))
    assert bound.digest == plain.digest


def test_nothing_known_is_said_and_not_recorded() -> None:
    plain = post({"to": EVE})
    bound = with_origins(plain, shown(), RULES, ORG)
    assert json.loads(bound.rego_input)["provenance"] == {}
    assert bound.request == plain.request


def test_a_credential_in_a_path_is_masked_in_the_record() -> None:
    token = credentials.github(random.Random(3))  # noqa: S311 - repeatable, not secret
    bound = with_origins(post({token: EVE, "to": EVE}), shown(EVE), RULES, ORG)
    assert token not in bound.request.decode().partition('"provenance"')[2]
    assert "params.body.to" in json.loads(bound.request)["provenance"]


def test_the_host_of_a_language_model_is_no_strangers() -> None:
    memory = shown("use https://api.openai.com and https://drop.example")
    told = with_origins(post({"input": "x"}, "api.openai.com"), memory, RULES, ORG)
    assert json.loads(told.rego_input)["provenance"] == {}
    other = with_origins(post({"input": "x"}, "drop.example"), memory, RULES, ORG)
    assert json.loads(other.rego_input)["provenance"]["http.host"]["trusted"] is False


@pytest.mark.parametrize(("host", "trusted"), [("api.openai.com", True), ("mail.example", None)])
def test_only_a_language_model_is_told_something(host: str, *, trusted: bool | None) -> None:
    memory = shown()
    body = {"messages": [{"role": "user", "content": f"write to {EVE}"}]}
    note_what_is_told(post(body, host), memory, RULES, ORG, lambda: NOW)
    found = json.loads(with_origins(post({"to": EVE}), memory, RULES, ORG).rego_input)["provenance"]
    assert (found["params.body.to"]["trusted"] if found else None) is trusted


def test_of_a_long_conversation_the_newest_is_read() -> None:
    memory = shown()
    long = "x" * (TOLD_CHARACTERS_MAX // 3)
    messages = [{"role": "user", "content": f"n{number}@corp.example {long}{number}"} for number in range(6)]
    note_what_is_told(post({"messages": messages}, "api.openai.com"), memory, RULES, ORG, lambda: NOW)
    carried = post({"to": [f"n{number}@corp.example" for number in range(6)]})
    known = json.loads(with_origins(carried, memory, RULES, ORG).rego_input)["provenance"]
    assert set(known) == {"params.body.to[4]", "params.body.to[5]"}


@pytest.mark.parametrize("body", [{"messages": [{"role": ["user"], "content": {"a": [None, 3]}}]}, [1], "text", None])
def test_a_strange_completion_tells_nothing(body: Any) -> None:
    memory = shown()
    note_what_is_told(post(body, "api.openai.com"), memory, RULES, ORG, lambda: NOW)
    assert memory.values == 0
