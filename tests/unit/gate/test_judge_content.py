"""From what policies about content say to a decision, and from a call to what is judged of it."""

import base64
import gzip
import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from headgate.detectors.document import Attachment
from headgate.gate.judge_content import tighten
from headgate.gate.judged_content import judged_content
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, NlpResult, OnMatch, Outcome
from headgate.policies.model import Decision, Requirement, RiskLevel, Verdict
from headgate.protocols.draft import Source, make_draft
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_RULES = {
    Verdict.ALLOW: Decision(Verdict.ALLOW, "a rule", RiskLevel.LOW, "pol_1", 0.1),
    Verdict.REQUIRE_APPROVAL: Decision(
        Verdict.REQUIRE_APPROVAL, "a rule", RiskLevel.CRITICAL, "pol_1", 0.1, requirements=(Requirement("pol_1", 1, 2),)
    ),
    Verdict.DENY: Decision(Verdict.DENY, "a rule", RiskLevel.HIGH, "pol_1", 0.1),
}
_STRICTNESS = [Verdict.ALLOW, Verdict.REQUIRE_APPROVAL, Verdict.DENY]


def _policy(policy_id: str, name: str, on_match: OnMatch = OnMatch.REQUIRE_APPROVAL) -> NlpPolicy:
    draft = NlpDraft(name, NlpPolicyType.PII_DETECTION, model="pii", on_match=on_match)
    at = datetime(2026, 11, 29, tzinfo=UTC)
    return NlpPolicy("org_1", policy_id, 4, draft, at, at)


_POLICIES = [_policy("nlp_1", "First"), _policy("nlp_2", "Second")]


def _result(policy_id: str, decision: Verdict) -> NlpResult:
    outcome = Outcome.CLEAR if decision is Verdict.ALLOW else Outcome.MATCH
    return NlpResult(policy_id, 4, "embedded", "pii", outcome, decision, 0.9, 0.9, (), "found", "detector", 2.0)


@pytest.mark.parametrize("rules", list(Verdict))
@pytest.mark.parametrize("one", list(Verdict))
@pytest.mark.parametrize("other", list(Verdict))
def test_together_they_are_as_strict_as_the_strictest(rules: Verdict, one: Verdict, other: Verdict) -> None:
    decision = tighten(_RULES[rules], [_result("nlp_1", one), _result("nlp_2", other)], _POLICIES)

    assert decision.verdict is max((rules, one, other), key=_STRICTNESS.index)
    assert [entry["policy_id"] for entry in decision.nlp] == ["nlp_1", "nlp_2"]
    assert decision.record()["nlp"] == list(decision.nlp)
    assert (decision.requirements != ()) == (decision.verdict is Verdict.REQUIRE_APPROVAL)


def test_who_asks_is_a_requirement_beside_the_rules() -> None:
    decision = tighten(_RULES[Verdict.REQUIRE_APPROVAL], [_result("nlp_1", Verdict.REQUIRE_APPROVAL)], _POLICIES)

    assert decision.requirements == (Requirement("pol_1", 1, 2), Requirement("nlp_1", 4, 1))
    assert (decision.risk_level, decision.policy_id) == (RiskLevel.CRITICAL, "pol_1")
    assert decision.reason == "a rule; First: found"


def test_what_could_not_be_masked_says_so() -> None:
    found, failed = _result("nlp_1", Verdict.REQUIRE_APPROVAL), _result("nlp_2", Verdict.REQUIRE_APPROVAL)
    masking = [_policy("nlp_1", "First", OnMatch.MASK), _policy("nlp_2", "Second", OnMatch.MASK)]
    decision = tighten(_RULES[Verdict.ALLOW], [found, replace(failed, outcome=Outcome.ERROR)], masking)

    assert decision.reason == "First: found, which cannot be masked here; Second: found"


def test_a_decision_without_such_policies_has_no_entry_for_them() -> None:
    assert "nlp" not in _RULES[Verdict.ALLOW].record()


def _call(body: bytes, *headers: tuple[bytes, bytes], host: str = "api.example.com", path: str = "/notes") -> HttpCall:
    named = ((b"Host", host.encode()), (b"Content-Length", str(len(body)).encode()), *headers)
    return HttpCall("POST", "https", host, 443, path, "q=maria%40example.com", named, body)


_JSON = (b"Content-Type", b"application/json")


def test_a_calls_body_is_judged_once_and_its_address_too() -> None:
    content = judged_content(interpret(_call(b'{"a": {"b": "secret text"}}', _JSON), load_catalogues()))

    assert content.unread is None
    assert content.value["body"] == {"a": {"b": "secret text"}}
    assert json.dumps(content.value).count("secret text") == 1
    assert "maria@example.com" in json.dumps(content.value)


def test_a_field_that_a_catalogue_does_not_name_is_judged_as_well() -> None:
    call = _call(b'{"title": "t", "unmapped": "hidden"}', _JSON, host="api.github.com", path="/repos/a/b/issues")
    content = judged_content(interpret(call, load_catalogues()))

    assert "hidden" in json.dumps(content.value["body"])


@pytest.mark.parametrize("body", [b"plain text", b"a=1&b=2", b"{broken"])
def test_what_is_text_is_judged_as_text(body: bytes) -> None:
    assert (
        judged_content(interpret(_call(body, (b"Content-Type", b"text/plain")), load_catalogues())).value["body"]
        == body.decode()
    )


def test_a_compressed_body_is_read() -> None:
    body = gzip.compress(b'{"a": "inside"}')
    content = judged_content(interpret(_call(body, _JSON, (b"Content-Encoding", b"gzip")), load_catalogues()))

    assert content.value["body"] == {"a": "inside"}


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(b"a" * 2_000_000, mtime=0), ((b"Content-Type", b"text/plain"), (b"Content-Encoding", b"gzip"))),
    ],
)
def test_what_cannot_be_read_is_said(body: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    content = judged_content(interpret(_call(body, *headers), load_catalogues()))

    assert content.unread is not None
    assert "body" not in content.value


def test_what_cannot_be_read_is_looked_at_as_it_was_sent() -> None:
    cut = b"\0\0\0\1\3\nIBAN DE62 3094 8076 1739 9610 72"
    for body, fields in (
        (cut, {b"content-type": b"application/grpc"}),
        (base64.b64encode(cut[:9]) + base64.b64encode(cut[9:]), {b"content-type": b"application/grpc-web-text"}),
        (cut, {b"content-type": b"text/plain", b"content-encoding": b"unheard"}),
    ):
        call = HttpCall("POST", "https", "api.example.com", 443, "/a.B/C", "", tuple(fields.items()), body)
        content = judged_content(interpret(call, load_catalogues()))

        assert content.unscannable is not None
        assert cut in [one.data for one in content.attachments]


def test_a_coding_that_nobody_knows_is_unscannable() -> None:
    call = _call(b"whatever", (b"Content-Type", b"text/plain"), (b"Content-Encoding", b"compress"))

    assert judged_content(interpret(call, load_catalogues())).unscannable == "the body's content coding is unknown"


def test_what_is_not_text_is_an_attachment() -> None:
    picture = bytes(range(256))
    content = judged_content(interpret(_call(picture, (b"Content-Type", b"image/png")), load_catalogues()))

    assert content.attachments == (Attachment(("body",), picture),)
    assert "body" not in content.value


def test_an_explicit_action_is_its_params_and_context() -> None:
    draft = make_draft(tool="t", operation="o", params={"a": 1}, source=Source.API, context=b'{"why":"x"}')

    assert judged_content(draft).value == {"tool": "t", "operation": "o", "params": {"a": 1}, "context": {"why": "x"}}
