"""Asking policies: the first deny ends the rest, and whatever goes wrong holds."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.detectors.prepare import prepare
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.model import Provider, ProviderKind
from headgate.judges.transport import open_client
from headgate.kernel.clock import system_clock
from headgate.kernel.loop_share import LoopShare
from headgate.nlp_policies import detector_round
from headgate.nlp_policies.content import JudgedContent
from headgate.nlp_policies.detector_round import SMALL_LIMITS
from headgate.nlp_policies.evaluate import Evaluator, decision_of, policy_text
from headgate.nlp_policies.model import NlpDraft, NlpPolicy, NlpPolicyType, OnMatch, Outcome
from headgate.organizations.destinations import OperatorBounds
from headgate.policies.model import Verdict

_NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _policy(policy_id: str = "nlp_1", **fields: Any) -> NlpPolicy:
    draft = NlpDraft("p", NlpPolicyType.PII_DETECTION, model="pii", threshold=0.6)
    return NlpPolicy("org_1", policy_id, 3, replace(draft, **fields), _NOW, _NOW)


def _evaluator(judges: Judges, seconds: float = 3.0) -> Evaluator:
    return Evaluator(judges, DailyBudgets(system_clock), seconds)


@pytest.fixture
def silent() -> Iterator[dict[str, Provider]]:
    """A provider that is not even reached: the system takes no more connections for it, and refuses none."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        yield {"slow": Provider(ProviderKind.OPENAI_COMPATIBLE, address, rules=OperatorBounds(None))}


async def test_an_entry_says_what_the_record_needs() -> None:
    async with open_client() as client:
        result = await _evaluator(Judges(client)).evaluate(_policy(), JudgedContent({"to": "maria@example.com"}), {})

    record = result.record()
    assert list(record) == [
        "policy_id", "version", "provider", "model", "outcome", "decision", "score", "issues", "reasoning", "error",
        "latency_ms",
    ]  # fmt: skip
    assert (record["outcome"], record["decision"], record["issues"]) == ("match", "require_approval", ["email"])
    assert "maria" not in str(record)


async def test_the_first_deny_ends_the_rest(silent: dict[str, Provider]) -> None:
    slow = _policy("nlp_slow", provider="slow", model="m", type=NlpPolicyType.CUSTOM, prompt="x")
    denying = _policy("nlp_deny", on_match=OnMatch.DENY)
    prepare()  # as a process does before its first call; else reading the forms may take longer than the slow one
    async with open_client() as client:
        async with asyncio.timeout(20):
            results = await _evaluator(Judges(client), 30.0).evaluate_all(
                [slow, denying], JudgedContent("mail maria@example.com"), silent
            )

    assert [one.policy_id for one in results] == ["nlp_deny"]
    assert decision_of(results) is Verdict.DENY


async def test_all_are_within_one_deadline(silent: dict[str, Provider]) -> None:
    slow = [_policy(f"nlp_{one}", provider="slow", model="m") for one in range(3)]
    async with open_client() as client:
        async with asyncio.timeout(5):
            results = await _evaluator(Judges(client), 0.3).evaluate_all(slow, JudgedContent("x"), silent)

    assert {one.error for one in results} <= {"timeout", "unreachable"}
    assert decision_of(results) is Verdict.REQUIRE_APPROVAL


@pytest.mark.parametrize("on_error", [Verdict.REQUIRE_APPROVAL, Verdict.DENY])
async def test_a_defect_holds(monkeypatch: pytest.MonkeyPatch, on_error: Verdict) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(detector_round.AssessedContent, "assess", explode)
    async with open_client() as client:
        result = await _evaluator(Judges(client)).evaluate(_policy(on_error=on_error), JudgedContent("x"), {})

    assert (result.outcome, result.decision, result.error) == (Outcome.ERROR, on_error, "internal")


def test_nobody_objects_to_nothing() -> None:
    assert decision_of([]) is Verdict.ALLOW


@pytest.mark.parametrize("kind", list(NlpPolicyType))
def test_a_policys_own_words_are_part_of_what_is_judged_by(kind: NlpPolicyType) -> None:
    policy = _policy(type=kind, provider="slow", model="m", prompt="And nothing about whales.")

    assert "And nothing about whales." in policy_text(policy)


@pytest.mark.parametrize(
    ("value", "turns"),
    [
        ({"to": "maria@example.com"}, 0),
        ({"text": "a" * 3000}, 1),
        ({"list": [1] * 99}, 0),
        ({"list": [1] * 100}, 1),
        ({"list": [1] * 200_000}, 1),
        ({"a" * 3000: 1}, 1),
        ([[[["x"] * 30] * 30] * 30], 1),
        ({"text": "QUFB" * 400 + "\n" + "414141" * 200}, 1),  # decoded, more than a small content may
    ],
)
async def test_small_content_is_looked_through_in_the_event_loop(
    value: Any, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        detector_round, "SMALL_LIMITS", replace(SMALL_LIMITS, seconds_max=60)
    )  # however busy the machine is
    taken: list[str] = []
    async with open_client() as client:
        evaluator = _evaluator(Judges(client))
        turn = evaluator._turns.turn
        monkeypatch.setattr(evaluator._turns, "turn", lambda *of: taken.append(of[0]) or turn(*of))
        await evaluator.evaluate(_policy(), JudgedContent(value), {})
        assert len(taken) == turns


async def test_detectors_leave_the_loop_to_other_organizations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_round, "SMALL_LIMITS", replace(SMALL_LIMITS, seconds_max=60))
    taken: list[str] = []
    async with open_client() as client:
        evaluator = _evaluator(Judges(client))
        now = [0.0]
        evaluator._share = LoopShare(lambda: now[0])
        turn = evaluator._turns.turn
        monkeypatch.setattr(evaluator._turns, "turn", lambda *of: taken.append(of[0]) or turn(*of))
        policies = [replace(_policy(), org_id=org_id) for org_id in ("org_2", "org_1")]
        evaluator._share.charge("org_1", 60)
        for policy in policies:
            result = await evaluator.evaluate(policy, JudgedContent({"to": "maria@example.com"}), {})
            assert result.outcome is Outcome.MATCH
        assert taken == ["org_1"]
        assert evaluator._share._used_until["org_2"] > 0
        now[0] = 300.0
        await evaluator.evaluate(policies[1], JudgedContent({"to": "maria@example.com"}), {})
        assert taken == ["org_1"]
