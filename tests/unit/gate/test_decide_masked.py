"""The decision about a call in which something was replaced, from what each policy says of it."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from headgate.gate.candidate import BoundCandidate
from headgate.gate.masking import Masking
from headgate.gate.pipeline import Decided, DecisionPipeline, Masked, decide_masked, masking_of, recall_nothing
from headgate.gate.preconditions import unconditional
from headgate.kernel.canonical_json import JsonObject
from headgate.nlp_policies.model import OnMatch
from headgate.policies.model import Decision, FoundText, RiskLevel, Verdict
from tests.unit.gate.identities import ROBOT

_CANDIDATE = cast(
    "BoundCandidate",
    SimpleNamespace(agent_id="agt_a", draft=SimpleNamespace(tool="mail", call=None, content=b"masked")),
)
_MASKED = Masked(_CANDIDATE, 2, ("email",))
_FOUND = FoundText(("body",), 0, 3, "email")


def _policy(policy_id: str, on_match: OnMatch) -> Any:
    return SimpleNamespace(policy_id=policy_id, draft=SimpleNamespace(on_match=on_match))


def _entry(policy_id: str, outcome: str, error: str | None = None) -> JsonObject:
    return {"policy_id": policy_id, "outcome": outcome, "decision": "require_approval", "error": error}


_MATCH = _entry("nlp_mask", "match")
_CLEAR = _entry("nlp_mask", "clear")
_STATE: Any = SimpleNamespace(
    canaries=(), nlp_policies=(_policy("nlp_mask", OnMatch.MASK), _policy("nlp_deny", OnMatch.DENY))
)
_FIRST = Decision(Verdict.REQUIRE_APPROVAL, "found", RiskLevel.HIGH, "nlp_mask", 1.0, nlp=(_MATCH,), to_mask=(_FOUND,))


@dataclass
class _Rules:
    def at_once(self, state: Any, candidate: Any) -> Decision | None:
        return Decision(Verdict.ALLOW, "a rule", RiskLevel.LOW, "pol_1", 0.5)

    async def in_turn(self, state: Any, candidate: Any) -> Decision:
        raise NotImplementedError


@dataclass
class _Content:
    verdict: Verdict = Verdict.ALLOW
    entries: tuple[JsonObject, ...] = ()
    error: Exception | None = None
    asked: list[Any] = field(default_factory=list)

    async def tightened(self, state: Any, candidate: Any, decision: Decision, recall: Any) -> Decision:
        self.asked.append(candidate)
        if self.error is not None:
            raise self.error
        return replace(decision, verdict=self.verdict, nlp=self.entries, to_mask=(_FOUND,))


async def _decided(content: _Content, first: Decision = _FIRST) -> Decision | None:
    pipeline = DecisionPipeline(unconditional, _Rules(), content)
    return await decide_masked(pipeline, _STATE, first, _MASKED, recall_nothing)


async def test_what_is_clear_now_passes_and_says_what_was_masked() -> None:
    decision = await _decided(_Content(entries=(_CLEAR,)))

    assert decision is not None
    assert (decision.verdict, decision.to_mask, decision.evaluation_time_ms) == (Verdict.ALLOW, (), 1.5)
    assert decision.record()["masked"] == {"count": 2, "kinds": ["email"]}
    assert decision.nlp == ({**_MATCH, "decision": "mask"},)


@pytest.mark.parametrize(
    "entries",
    [
        (_MATCH,),
        (_entry("nlp_mask", "error", "not_inspected"),),
        (_entry("nlp_mask", "error", "timeout"),),
        (_entry("nlp_mask", "clear", "unscannable"),),
        (_entry("nlp_deny", "clear"),),
        (),
    ],
    ids=["found", "in part", "late", "not opened", "not asked", "nobody"],
)
async def test_what_is_not_clear_now_does_not_pass(entries: tuple[JsonObject, ...]) -> None:
    content = _Content(entries=entries)

    assert await _decided(content) is None
    assert len(content.asked) == 1


async def test_another_policy_still_holds_or_denies_the_masked_call() -> None:
    held = await _decided(_Content(Verdict.REQUIRE_APPROVAL, (_CLEAR, _entry("nlp_deny", "error", "timeout"))))
    denied = await _decided(_Content(Verdict.DENY, (_entry("nlp_deny", "match"),)))

    assert held is not None and denied is not None
    assert (held.verdict, denied.verdict) == (Verdict.REQUIRE_APPROVAL, Verdict.DENY)
    # Whoever denied may have come before the policy that masks: a capture must not take the call for clear.
    assert [masking_of(Decided(_STATE, ROBOT, _CANDIDATE, one)) for one in (held, denied)] == [
        Masking(b"masked", is_complete=True),
        Masking(b"masked", is_complete=False),
    ]


async def test_a_policy_that_failed_before_and_is_clear_now_is_no_mask() -> None:
    first = replace(_FIRST, nlp=(_MATCH, _entry("nlp_deny", "clear")))
    decision = await _decided(_Content(entries=(_CLEAR, _entry("nlp_deny", "clear"))), first)

    assert decision is not None
    assert [one["decision"] for one in decision.nlp] == ["mask", "require_approval"]


async def test_what_fails_in_between_is_not_swallowed() -> None:
    with pytest.raises(RuntimeError, match="a defect"):
        await _decided(_Content(error=RuntimeError("a defect")))
