"""The default policies, by cases that are data: a call and the record of its decision."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
import zstandard

from headgate.agent_sessions.model import reads_sessions
from headgate.configuration.resources import resource_path
from headgate.detectors.credential_destinations import credential_destinations
from headgate.kernel.errors import AmbiguousRequestError
from headgate.llm_usage.model import reads_usage
from headgate.policies.data import policy_data
from headgate.policies.defaults import default_policies
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import RulePolicy
from headgate.policies.trial import try_policy
from headgate.protocols.http_call import HttpCall
from headgate.provenance.model import provenance_rules
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted(resource_path("policies", "cases").glob("*.yaml"))
    for case in yaml.safe_load(file.read_text("utf-8"))
]
DATA = policy_data(None)


@pytest.fixture(scope="module")
def seeded(rule_policy: Callable[..., RulePolicy]) -> PolicySet:
    policies = [
        rule_policy(one.rego_policy, policy_id=one.key, name=one.name, priority=one.priority)
        for one in default_policies()
    ]
    return PolicySet(policies, DATA)


@pytest.mark.parametrize("case", CASES)
def test_the_record_is_the_expected_one(seeded: PolicySet, case: dict[str, Any]) -> None:
    document = json.dumps(case["input"]).encode()
    http = case["input"].get("http", {})
    decision = seeded.decide(
        document,
        tool=case["input"]["tool"],
        operation=case["input"]["operation"],
        host=http.get("host"),
        method=http.get("method"),
    )
    everybody = seeded.decide_asking_all(document)
    assert decision.record() | {"evaluation_time_ms": None} == case["record"] | {"evaluation_time_ms": None}
    assert everybody.record() | {"evaluation_time_ms": None} == case["record"] | {"evaluation_time_ms": None}


def test_signing_in_is_allowed_where_credentials_may_go() -> None:
    """The table that says whose credentials may go where, but for hosts that are patterns."""
    [policy] = [one for one in default_policies() if one.key == "sign_in"]
    expected: dict[str, set[str]] = {}
    for one in (one for _, destinations in credential_destinations().sign_in for one in destinations):
        if "*" not in one.host:
            expected.setdefault(one.host, set()).add(one.path or "/")
    table = policy.rego_policy.split("hosts := {", 1)[1].split("\n}\n", 1)[0]
    entries = re.findall(r'^\t"([^"]+)": \{(.*)\},$', table, re.MULTILINE)
    written = {host: set(re.findall(r'"([^"]+)"', paths)) for host, paths in entries}
    assert written == expected


def test_only_a_post_is_asked_of_the_policy_about_signing_in(seeded: PolicySet) -> None:
    """The index tells by the method that the policy decides nothing about a read, which costs no more for it."""
    concerned = {
        method: {one.policy_id for one in seeded.concerned(tool="http", operation="x", host="a.example", method=method)}
        for method in ("GET", "POST", None)
    }
    assert {method for method, policies in concerned.items() if "sign_in" in policies} == {"POST"}


def test_no_default_has_every_call_remembered() -> None:
    """A word that is taken for a reading of `input.session` costs each call of each new installation 4 KB of record."""
    texts = [one.rego_policy for one in default_policies()]
    kept = (reads_sessions(texts), reads_usage(texts), provenance_rules(texts, {}))
    assert kept == (False, False, None)


def test_every_default_is_a_file_and_every_file_a_default() -> None:
    files = {file.stem for file in resource_path("policies", "defaults").glob("*.rego")}
    assert files == {one.key for one in default_policies()}
    assert {one.key: one.priority for one in default_policies()} == {
        "model_providers": 999,
        "sign_in": 999,
        "reads_and_writes": 1000,
        "deny_destructive": 1000,
    }


@pytest.mark.parametrize("key", [one.key for one in default_policies()])
async def test_the_defaults_come_through_their_own_trial_without_a_warning(key: str) -> None:
    [policy] = [one for one in default_policies() if one.key == key]
    assert (await try_policy(policy.rego_policy, DATA)).warnings == ()


@pytest.mark.parametrize("effect", ["missing", None, 7, "unheard of"])
def test_what_is_not_understood_is_held(seeded: PolicySet, effect: object) -> None:
    """An input that another version makes: nothing that is sent passes for a read by its name."""
    call: dict[str, object] = {"tool": "x", "operation": "get_it", "http": {"method": "GET", "host": "h"}}
    if effect != "missing":
        call["effect"] = effect
    decision = seeded.decide(json.dumps(call).encode(), tool="x", operation="get_it", host="h", method="GET")
    assert decision.verdict == "require_approval"


SEARCHES = b'"tools": [{"type": "web_search"}]'


GEMINI = "generativelanguage.googleapis.com/v1beta/models/m"
HELD = "http require_approval"
CHAT = '"messages":[{"role":"user","content":"hi"}]'
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("url", "headers", "body", "expected"),
    [
        pytest.param("api.openai.com/v1/chat/completions", JSON, f'{{"model":"m",{CHAT},"stream":null}}', "llm allow"),
        pytest.param("api.openai.com/v1/chat/completions", JSON, f'{{"model":"m",{CHAT},"stream":0}}', HELD),
        pytest.param("api.openai.com/v1/chat/completions", {}, f'{{"model":"m",{CHAT}}}', HELD, id="no content type"),
        pytest.param("api.openai.com/v1/responses", JSON, '{"model":"m","previous_response_id":"r"}', "llm allow"),
        pytest.param("api.openai.com/v1/responses", JSON, '{"previous_response_id":"r"}', HELD),
        pytest.param("api.anthropic.com/v1/messages", JSON, f'{{"model":"m",{CHAT}}}', HELD),
        pytest.param(
            "api.anthropic.com/v1/messages", JSON | {"anthropic-version": "v"}, f'{{"model":"m",{CHAT}}}', "llm allow"
        ),
        pytest.param(f"{GEMINI}:generateContent", JSON, '{"contents":{"parts":{"text":"hi"}}}', "llm allow"),
        pytest.param(f"{GEMINI}:batchEmbedContents", JSON, '{"requests":[]}', "http allow"),
        pytest.param("openrouter.ai/api/v1/chat/completions", JSON, f'{{"models":["m","n"],{CHAT}}}', "llm allow"),
        pytest.param("api.cohere.com/v2/chat", JSON, f'{{"model":"m","stream":false,{CHAT}}}', "llm allow"),
        pytest.param("api.cohere.com/v1/chat", JSON, '{"message":"hi"}', HELD),
        pytest.param("router.huggingface.co/hf-inference/models/a/b", JSON, '{"inputs":"hi"}', "llm allow"),
    ],
)
def test_what_is_no_completion_at_its_address_is_held(
    seeded: PolicySet, url: str, headers: dict[str, str], body: str, expected: str
) -> None:
    host, _, path = url.partition("/")
    raw = tuple((name.encode(), value.encode()) for name, value in headers.items())
    draft = interpret(HttpCall("POST", "https", host, 443, f"/{path}", "", raw, body.encode()), CatalogueIndex([]))
    assert draft.read_call is not None
    asked = {"tool": draft.tool, "operation": draft.operation, "effect": draft.effect, "params": draft.params}
    document = json.dumps(asked | {"http": json.loads(draft.read_call.shown)}).encode()
    decision = seeded.decide(document, tool=draft.tool, operation=draft.operation, host=host, method="POST")
    assert f"{draft.tool} {decision.verdict}" == expected


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(
            {"content-type": "application/json", "content-encoding": "zstd"},
            zstandard.compress(b'{"model": "m", %s, "input": "%s"}' % (SEARCHES, b" " * 300_000)),
            id="a coding with a ratio beyond which it is not undone",
        ),
        pytest.param(
            {"content-type": "application/json", "content-encoding": "gzip, gzip"}, b"{}", id="an unknown coding"
        ),
        pytest.param({"content-type": "application/octet-stream"}, b"//\n{%s}" % SEARCHES, id="JSON with a comment"),
    ],
)
def test_a_body_that_was_not_read_is_no_completion(seeded: PolicySet, headers: dict[str, str], body: bytes) -> None:
    """Its parameters are an object too: of a digest, or of fields."""
    raw = tuple((name.encode(), value.encode()) for name, value in headers.items())
    call = HttpCall("POST", "https", "chatgpt.com", 443, "/backend-api/codex/responses", "", raw, body)
    draft = interpret(call, CatalogueIndex([]))
    assert draft.read_call is not None
    assert isinstance(draft.params["body"], dict)
    asked = {"tool": draft.tool, "operation": draft.operation, "effect": draft.effect, "params": draft.params}
    document = json.dumps(asked | {"http": json.loads(draft.read_call.shown)}).encode()
    decision = seeded.decide(document, tool="http", operation="post", host="chatgpt.com", method="POST")
    assert decision.verdict == "require_approval"


def test_a_completion_with_a_member_twice_is_refused_under_any_label() -> None:
    """As a form it would be one field, whose tools the policy does not see."""
    raw = ((b"content-type", b"application/x-www-form-urlencoded"),)
    body = b'{"model":"m","tools":[],"tools":[{"type":"web_search"}]}'
    call = HttpCall("POST", "https", "chatgpt.com", 443, "/backend-api/codex/responses", "", raw, body)
    with pytest.raises(AmbiguousRequestError, match="duplicate key"):
        interpret(call, CatalogueIndex([]))
