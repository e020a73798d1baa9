"""Several policies with detectors, and one content."""

import base64
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.detectors import decode, inspect
from headgate.detectors.assess import AssessedContent, Query
from headgate.detectors.document import JoinedText
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import system_clock
from headgate.nlp_policies import detector_round, evaluate
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.detector_round import SMALL_LIMITS, DetectorRound
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, NlpResult, OnMatch, Outcome, Scope
from headgate.policies.model import Verdict
from tests.labelled import credentials

_NOW = datetime(2026, 11, 28, tzinfo=UTC)
_TOKEN = credentials.gitlab(random.Random(3))  # noqa: S311 - repeatable, not secret
_CUT = 12
_HTTP: JsonObject = {"host": "api.example.com", "headers": {"accept": "*/*"}}
_CALL: JsonObject = {"http": _HTTP, "body": {"text": "Dear all,"}}


def _policy(model: str, **fields: Any) -> NlpPolicy:
    draft = NlpDraft(model, NlpPolicyType.CONTENT_SAFETY, model=model, threshold=0.6)
    name = str(fields.pop("name", model))
    return NlpPolicy("org_1", f"nlp_{name}", 1, replace(draft, **fields), _NOW, _NOW)


def _asked(policies: list[NlpPolicy], content: JudgedContent) -> dict[str, NlpResult]:
    asked = DetectorRound(policies, content)
    asked.ask_for(60)
    assert not asked.left
    return asked.results


def test_a_content_is_decoded_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[object] = []
    document_of = decode.document_of

    def counted(*given: Any) -> Any:
        decoded.append(given[0])
        return document_of(*given)

    monkeypatch.setattr(inspect, "document_of", counted)
    policies = [_policy("pii"), _policy("secrets"), _policy("commands"), _policy("pii", name="again")]

    results = _asked(policies, JudgedContent({**_CALL, "to": "maria@example.com"}))

    assert len(decoded) == 1
    assert {name: one.outcome for name, one in results.items()} == {
        "nlp_pii": Outcome.MATCH,
        "nlp_secrets": Outcome.CLEAR,
        "nlp_commands": Outcome.CLEAR,
        "nlp_again": Outcome.MATCH,
    }


@pytest.mark.parametrize("model", ["secrets", "keywords"])
def test_a_header_field_counts_for_the_policy_that_does_not_except_it(model: str) -> None:
    prompt = _TOKEN if model == "keywords" else None
    excepting = _policy(model, name="excepting", prompt=prompt, scope=Scope(except_headers=("authorization",)))
    content = JudgedContent(_CALL, sent={"cookie": ["a=b"], "authorization": [_TOKEN]})

    results = _asked([_policy(model, prompt=prompt), excepting], content)

    assert results[f"nlp_{model}"].outcome is Outcome.MATCH
    assert results["nlp_excepting"].outcome is Outcome.CLEAR
    assert results[f"nlp_{model}"].findings[0].place.path == "$.http.sent[0]"


def test_a_shown_header_field_is_left_out_by_name() -> None:
    http: JsonObject = {**_HTTP, "headers": {"x-token": _TOKEN, "x-other": "1"}}
    excepting = _policy("secrets", name="excepting", scope=Scope(except_headers=("x-token",)))

    results = _asked([_policy("secrets"), excepting], JudgedContent({**_CALL, "http": http}))

    assert [one.outcome for one in results.values()] == [Outcome.MATCH, Outcome.CLEAR]


@pytest.mark.parametrize("encode", [lambda text: base64.b64encode(text).decode(), bytes.hex, bytes.decode])
@pytest.mark.parametrize("seed", range(8))
def test_what_stands_in_an_excepted_field_is_found_nowhere_else(encode: Callable[[bytes], str], seed: int) -> None:
    """Decoders read digits across values: from the field into the body behind it."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    sent = encode(f"user:{credentials.hugging_face(rng)}".encode())
    excepting = _policy("secrets", name="excepting", scope=Scope(except_headers=("authorization",)))
    http: JsonObject = {**_HTTP, "host": "api.huggingface.co"}  # anywhere else it would be a finding (credential_homes)
    call: JsonObject = {"http": http, "body": {"ref": 481516, "text": "Dear all"}}
    content = JudgedContent(call, sent={"authorization": [sent]})

    results = _asked([_policy("pii"), excepting], content)

    assert results["nlp_excepting"].outcome is Outcome.CLEAR


def test_a_credential_cut_into_an_excepted_field_and_the_body_is_found_by_the_other() -> None:
    http: JsonObject = {"headers": {"x-part": _TOKEN[:_CUT]}}
    excepting = _policy("secrets", name="excepting", scope=Scope(except_headers=("x-part",)))

    results = _asked([_policy("secrets"), excepting], JudgedContent({"http": http, "body": {"a": _TOKEN[_CUT:]}}))

    assert [one.outcome for one in results.values()] == [Outcome.MATCH, Outcome.CLEAR]


def test_other_kinds_take_no_place_of_those_that_count() -> None:
    mails = " ".join(f"maria{number}@example.com" for number in range(2_600))
    accounts = _policy("pii", scope=Scope(kinds=("iban",)))

    results = _asked([accounts], JudgedContent({"to": mails, "note": "Konto DE89 3704 0044 0532 0130 00"}))
    alone = _asked([accounts], JudgedContent({"to": mails}))

    assert results["nlp_pii"].issues == ("iban",)
    assert (alone["nlp_pii"].outcome, alone["nlp_pii"].error) == (Outcome.CLEAR, None)


@pytest.mark.parametrize(("text", "passes"), [("The plan is fine. " * 30_000, True), ("a" + "\u0301" * 300, False)])
def test_of_an_answer_only_ordinary_limits_pass(text: str, passes: bool) -> None:
    policy = _policy("injection", on_unscannable=Verdict.ALLOW)

    strictly, in_part = (
        _asked([policy], JudgedContent({"body": text * 3}, limits_pass=limits_pass))["nlp_injection"]
        for limits_pass in (False, True)
    )

    assert strictly.error == "not_inspected"
    assert (in_part.outcome is Outcome.CLEAR, in_part.error) == (passes, "unscannable" if passes else "not_inspected")


def test_a_credential_in_a_cookie_is_found_beside_a_policy_that_excepts_cookies() -> None:
    http: JsonObject = {**_HTTP, "scheme": "https", "path": "/", "headers": {"cookie": "theme=***"}}
    content = JudgedContent({**_CALL, "http": http}, sent={"cookie": [_TOKEN, "theme"]})
    excepting = [
        _policy(model, name=f"excepting_{model}", scope=Scope(except_headers=("cookie",)))
        for model in ("secrets", "host_names")
    ]

    results = _asked([*excepting, _policy("host_names")], content)

    assert results["nlp_host_names"].issues == ("credential_in_cookie",)
    assert {one.outcome for name, one in results.items() if "excepting" in name} == {Outcome.CLEAR}


def test_what_is_left_out_is_not_joined() -> None:
    """The first half stands in a field that only one policy excepts."""
    content = JudgedContent({**_CALL, "rest": _TOKEN[_CUT:]}, sent={"authorization": [_TOKEN[:_CUT]]})
    earlier = (JoinedText((_TOKEN[:_CUT],), _TOKEN[_CUT:], ".http.sent.authorization"),)
    excepting = _policy("secrets", name="excepting", scope=Scope(except_headers=("authorization",)))

    results = _asked([_policy("secrets"), excepting], replace(content, joined=earlier))

    assert [one.outcome for one in results.values()] == [Outcome.MATCH, Outcome.CLEAR]


def test_a_defect_of_one_detector_is_no_answer_of_its_policy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assess = AssessedContent.assess

    def explodes(content: AssessedContent, query: Query) -> Any:
        if query.model == "pii":
            raise MemoryError
        return assess(content, query)

    monkeypatch.setattr(AssessedContent, "assess", explodes)
    results = _asked([_policy("pii"), _policy("secrets")], JudgedContent({"key": _TOKEN}))

    assert (results["nlp_pii"].outcome, results["nlp_pii"].decision) == (Outcome.ERROR, Verdict.REQUIRE_APPROVAL)
    assert results["nlp_secrets"].outcome is Outcome.MATCH


@pytest.mark.parametrize(
    ("model", "step"),
    [("secrets", "without_expected"), ("secrets", "away_from_home"), ("commands", "not_searched_for")],
)
def test_a_defect_in_what_leaves_findings_out_lets_nothing_through(
    monkeypatch: pytest.MonkeyPatch, model: str, step: str
) -> None:
    def explodes(*given: Any) -> Any:
        raise ValueError(step)

    monkeypatch.setattr(f"headgate.detectors.assess.{step}", explodes)
    [result] = _asked([_policy(model)], JudgedContent(_CALL)).values()

    assert (result.outcome, result.decision) == (Outcome.ERROR, Verdict.REQUIRE_APPROVAL)


def test_what_meets_a_small_limit_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_round, "SMALL_LIMITS", replace(SMALL_LIMITS, seconds_max=60))
    long_prompt = _policy("keywords", prompt="\n".join(f"word number {one}" for one in range(200)))
    asked = DetectorRound([_policy("pii"), long_prompt], JudgedContent({"text": "word number 7"}))

    asked.ask_within_small_limits()
    assert [one.policy_id for one in asked.left] == ["nlp_keywords"]
    asked.ask_for(60)

    assert asked.results["nlp_keywords"].outcome is Outcome.MATCH


@pytest.mark.parametrize(("on_match", "asked"), [(OnMatch.REQUIRE_APPROVAL, 3), (OnMatch.TAG, 3), (OnMatch.DENY, 1)])
async def test_a_turn_is_given_back_after_each_long_policy(
    monkeypatch: pytest.MonkeyPatch, on_match: OnMatch, asked: int
) -> None:
    """And the first deny ends the rest."""
    monkeypatch.setattr(evaluate, "TURN_SECONDS", 0.000_001)
    turns: list[tuple[str, str]] = []
    policies = [_policy("secrets", name=str(one), on_match=on_match) for one in range(3)]
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock))
        turn = evaluator._turns.turn

        def counted(org_id: str, agent_id: str) -> Any:
            turns.append((org_id, agent_id))
            return turn(org_id, agent_id)

        monkeypatch.setattr(evaluator._turns, "turn", counted)
        content = JudgedContent({"key": _TOKEN, "text": "a" * 3000}, agent_id="agt_1")
        results = await evaluator.evaluate_all(policies, content, {})

    assert turns == [("org_1", "agt_1")] * asked
    assert [one.outcome for one in results] == [Outcome.MATCH] * asked
