"""Which policies look at an answer, and what follows from what they say: it is forwarded where all agree."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from headgate.gate.inspect_answer import NOTHING_SAID, AnswerJudge, Verdicts, answer_judge, shown_inspection
from headgate.gate.judged_answer import Answer, AnsweredCall
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import (
    Direction,
    NlpDraft,
    NlpPolicy,
    NlpPolicyType,
    NlpResult,
    OnMatch,
    Outcome,
    Scope,
)
from headgate.policies.model import Verdict
from headgate.protocols.answer_head import parse_answer_head

_NOW = datetime(2026, 11, 21, tzinfo=UTC)
_ANSWER = Answer(parse_answer_head(200, (), method="GET"), b"text")


def _policy(name: str, scope: Scope = Scope(direction=Direction.RESPONSE), provider: str = "embedded") -> NlpPolicy:  # noqa: B008 - frozen
    draft = NlpDraft(name, NlpPolicyType.PII_DETECTION, provider=provider, model="pii", scope=scope)
    return NlpPolicy("org_1", f"nlp_{name}", 2, draft, _NOW, _NOW)


def _result(name: str, outcome: Outcome = Outcome.CLEAR, decision: Verdict | None = None, **changes) -> NlpResult:
    decided = decision or (Verdict.ALLOW if outcome is Outcome.CLEAR else Verdict.REQUIRE_APPROVAL)
    result = NlpResult(
        f"nlp_{name}", 2, "embedded", "pii", outcome, decided, 0.9, 0.9, ("email",), "1 found", "detector", 2.0
    )
    return replace(result, **changes)


class _Says:
    """An evaluator whose policies say this."""

    def __init__(self, *results: NlpResult) -> None:
        self._results = list(results)

    async def evaluate_all(self, policies, content, providers) -> list[NlpResult]:
        return self._results


def _judge(*results: NlpResult, policies: tuple[str, ...] = ("a", "b")) -> AnswerJudge:
    return AnswerJudge(_Says(*results), [_policy(one) for one in policies], {}, AnsweredCall("http", "get"), "agt_1")


@pytest.mark.parametrize(
    ("scope", "looks"),
    [
        (Scope(), False),
        (Scope(direction=Direction.RESPONSE), True),
        (Scope(direction=Direction.BOTH), True),
        (Scope(("http",), ("get",), ("agt_1",), Direction.RESPONSE), True),
        (Scope(tools=("github",), direction=Direction.RESPONSE), False),
        (Scope(operations=("post",), direction=Direction.RESPONSE), False),
        (Scope(agents=("agt_2",), direction=Direction.RESPONSE), False),
    ],
)
def test_who_looks(scope: Scope, looks: bool) -> None:
    state = SimpleNamespace(nlp_policies=(_policy("a", scope),), nlp_providers={})
    action = SimpleNamespace(agent_id="agt_1", tool="http", operation="get", is_published_page=False)
    judge = answer_judge(_Says(), state, action)
    assert (judge is not None) == looks


@pytest.mark.parametrize(("provider", "whole"), [("embedded", False), ("gemini", True)])
def test_a_language_model_needs_the_whole(provider: str, whole: bool) -> None:
    policies = [_policy("a"), _policy("b", provider=provider)]
    assert AnswerJudge(_Says(), policies, {}, AnsweredCall("http", "get"), "agt_1").needs_the_whole == whole


@pytest.mark.parametrize(
    ("results", "withheld"),
    [
        ([_result("a"), _result("b")], None),
        ([_result("a"), _result("b", Outcome.MATCH)], "b: email"),
        ([_result("a"), _result("b", Outcome.MATCH, Verdict.DENY)], "b: email"),
        ([_result("b", Outcome.MATCH, Verdict.DENY)], "b: email"),
        ([_result("a", Outcome.ERROR, error="timeout"), _result("b")], "a: could not be asked (timeout)"),
        ([_result("a", Outcome.MATCH, engine="judge", issues=("maria@example.com",)), _result("b")], "a: a match"),
        ([_result("a")], "not every policy was asked"),
        ([], "not every policy was asked"),
    ],
)
async def test_all_have_to_agree(results: list[NlpResult], withheld: str | None) -> None:
    verdicts = await _judge(*results).of_answer(_ANSWER, max_bytes=100)
    assert verdicts.withheld == withheld


async def test_what_cannot_be_read_is_asked_of_nobody() -> None:
    unread = replace(_ANSWER, body=b"x" * 101)
    verdicts = await _judge(_result("a"), _result("b")).of_answer(unread, max_bytes=100)
    assert "larger than 100 bytes" in str(verdicts.withheld)
    assert [one.error for one in verdicts.results] == ["not_inspected"] * 2


def test_the_agent_is_told_kinds_and_not_what_a_model_wrote() -> None:
    judged = _result("a", Outcome.MATCH, engine="judge", issues=("maria@example.com",), reasoning="maria")
    verdicts = Verdicts((judged, _result("b"), _result("c", Outcome.MATCH)), "why")
    assert verdicts.details() == [
        {"policy_id": "nlp_a", "outcome": "match", "issues": [], "error": None},
        {"policy_id": "nlp_c", "outcome": "match", "issues": ["email"], "error": None},
    ]
    assert [entry["decision"] for entry in verdicts.record()] == ["withhold", "allow", "withhold"]
    assert verdicts.record()[0]["reasoning"] == "maria"


def test_of_a_stream_the_last_word_counts_and_all_the_time() -> None:
    first = Verdicts((_result("a"), _result("b"))).after(NOTHING_SAID)
    second = Verdicts((_result("b", Outcome.MATCH),), "b: email").after(first)
    assert second.withheld == "b: email"
    assert {one.policy_id: (one.outcome, one.latency_ms) for one in second.results} == {
        "nlp_b": (Outcome.MATCH, 4.0),
        "nlp_a": (Outcome.CLEAR, 2.0),
    }


@pytest.mark.parametrize("withheld", [True, False])
def test_who_may_not_see_an_answer_does_not_read_what_a_model_wrote_about_it(withheld: bool) -> None:
    objecting = Outcome.MATCH if withheld else Outcome.CLEAR
    results = (
        _result("a", objecting, engine="judge", question="00", reasoning="it says hunter2", issues=("hunter2",)),
        _result("b", objecting),
    )
    recorded = Verdicts(results, "a: a match" if withheld else None).inspection()
    assert "hunter2" in json.dumps(recorded)
    shown = shown_inspection(recorded)
    assert ("hunter2" in json.dumps(shown)) is not withheld
    assert [one["policy_id"] for one in shown["nlp"]] == ["nlp_a", "nlp_b"]
    assert shown["nlp"][1]["issues"] == ["email"]


@pytest.mark.parametrize(("model", "looks"), [("injection", False), ("pii", True), ("secrets", True)])
def test_nobody_looks_for_instructions_in_a_page_that_only_its_publisher_writes(model: str, looks: bool) -> None:
    policy = _policy("a")
    policy = replace(policy, draft=replace(policy.draft, model=model))
    state = SimpleNamespace(nlp_policies=(policy,), nlp_providers={})
    for published, expected in ((True, looks), (False, True)):
        action = SimpleNamespace(tool="http", operation="get", agent_id="agt_1", is_published_page=published)
        assert (answer_judge(_Says(), state, action) is not None) is expected


async def test_events_that_were_collected_are_masked_too() -> None:
    """As the executor has them, and where a language model judges beside it."""
    events = b'data: to maria.keller@example.com\n\ndata: {"to": "maria.keller@example.com"}\n\n'
    head = parse_answer_head(200, [(b"content-type", b"text/event-stream")], method="GET")
    async with open_client() as client:
        evaluator = Evaluator(Judges(client), DailyBudgets(system_clock), deadline_seconds=30)
        policy = _policy("a")
        masking = replace(policy, draft=replace(policy.draft, on_match=OnMatch.MASK, threshold=0.6))
        judge = AnswerJudge(evaluator, [masking], {}, AnsweredCall("http", "get"), "agt_1")
        verdicts = await judge.of_answer_or_masked(Answer(head, events), max_bytes=1000)
        name = await judge.of_answer_or_masked(Answer(head, b"event: maria.keller@example.com\n\n"), max_bytes=1000)
    assert verdicts.masked is not None
    assert verdicts.masked.body == events.replace(b"maria.keller@example.com", b"[masked: email]")
    assert (name.masked, name.withheld) == (None, "a: email, which cannot be masked here")
