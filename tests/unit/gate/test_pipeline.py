"""What the pipeline hands to those who record: of one generation, and decided again while the state moves."""

import gc
import weakref
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import BoundCandidate
from headgate.gate.organization_state import MOST_DECISIONS
from headgate.gate.pipeline import DecideAgain, Decided, DecisionPipeline, Held, Masked, pass_through
from headgate.gate.preconditions import stopped
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.organizations.stops import Stop, StopScope
from headgate.policies.model import Decision, RiskLevel, Verdict

_CANDIDATE = cast("BoundCandidate", SimpleNamespace(agent_id="agt_a", draft=SimpleNamespace(tool="mail", call=None)))
_STOP = Stop(StopScope.ORGANIZATION, None, "under attack", "usr_1", "2026-11-23T00:00:00Z")


def _identity(generation: int) -> KeyIdentity:
    return KeyIdentity("org_a", "key_1", KeyKind.AGENT, "agt_a", "Robot", None, frozenset(), None, generation)


def _state(generation: int, **members: Any) -> Any:
    return SimpleNamespace(
        **{
            "org_id": "org_a",
            "generation": generation,
            "nlp_policies": (),
            "canaries": (),
            "stops": (),
            "has_exemptions": False,
        }
        | members
    )


@dataclass
class _States:
    """As of ``state``; ``load`` makes it newer."""

    state: Any

    def current(self, org_id: str) -> Any:
        return self.state

    async def at_least(self, org_id: str, generation: int) -> Any:
        if self.state.generation < generation:
            self.state = _state(generation)
        return self.state

    async def newer_than(self, state: Any) -> Any:
        return await self.at_least("org_a", state.generation + 1)


@dataclass
class _Keys:
    states: _States

    def observe_generation(self, org_id: str, generation: int) -> None:
        """Nothing is kept."""

    async def authenticate(self, key: str) -> KeyIdentity:
        return _identity(self.states.state.generation)


@dataclass
class _Rules:
    """Says ``verdict``; ``meanwhile`` happens while it is asked."""

    verdict: Verdict
    meanwhile: Any = None

    def at_once(self, state: Any, candidate: Any) -> Decision | None:
        return None

    async def in_turn(self, state: Any, candidate: Any) -> Decision:
        if self.meanwhile is not None:
            await self.meanwhile()
        return Decision(self.verdict, "a rule", RiskLevel.LOW, "pol_1", 0.1)


@dataclass
class _Way:
    """``answers``: what recording says, each time; then it is recorded."""

    answers: list[DecideAgain] = field(default_factory=list)
    seen: list[Decided] = field(default_factory=list)
    exempted: list[Decided] = field(default_factory=list)

    async def bind(self, state: Any) -> BoundCandidate:
        return _CANDIDATE

    async def recall(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        return NOTHING_RECALLED

    async def masked(self, state: Any, identity: KeyIdentity, decided: Decided) -> Masked | None:
        return None

    async def exempt(self, decided: Decided) -> str:
        self.exempted.append(decided)
        return "exempted"

    async def hold(self, decided: Decided) -> str | DecideAgain | Held:
        return await self.record(decided)

    async def record(self, decided: Decided) -> str | DecideAgain:
        self.seen.append(decided)
        return self.answers.pop(0) if self.answers else "recorded"


@dataclass
class _Process:
    states: _States
    caller: Caller
    callers: Callers
    way: _Way

    async def passes(self, rules: _Rules) -> str:
        pipeline = DecisionPipeline(stopped, rules, cast("Any", None))
        return await pass_through(pipeline, self.callers, self.caller, self.way, self.way.bind)


@pytest.fixture
def process() -> _Process:
    states = _States(_state(1))
    callers = Callers(cast("Any", states), cast("Any", _Keys(states)), lambda: datetime(2026, 11, 23, tzinfo=UTC))
    return _Process(states, Caller(Secret("key"), _identity(1)), callers, _Way())


async def test_what_another_call_of_the_connection_learns_does_not_date_this_decision(process: _Process) -> None:
    """A decision of generation 1 recorded as of generation 2 would pass for fresh."""

    async def another_call() -> None:
        process.states.state = _state(2)
        await process.callers.at_one_generation(process.caller)

    await process.passes(_Rules(Verdict.ALLOW, another_call))
    [decided] = process.way.seen
    assert process.caller.identity.generation == 2
    assert (decided.identity.generation, decided.state.generation) == (1, 1)


@pytest.mark.parametrize("verdict", [Verdict.ALLOW, Verdict.REQUIRE_APPROVAL])
async def test_what_is_stale_is_decided_again_on_newer_state(process: _Process, verdict: Verdict) -> None:
    process.way.answers = [DecideAgain.STALE, DecideAgain.AWAKE, DecideAgain.STALE]
    assert await process.passes(_Rules(verdict)) == "recorded"
    assert [one.state.generation for one in process.way.seen] == [1, 2, 2, 3]
    assert [one.identity.generation for one in process.way.seen] == [1, 2, 2, 3]


async def test_what_never_settles_is_refused(process: _Process) -> None:
    process.way.answers = [DecideAgain.STALE] * 100
    with pytest.raises(UnavailableError, match="changing too fast"):
        await process.passes(_Rules(Verdict.ALLOW))
    assert len(process.way.seen) == MOST_DECISIONS


@pytest.mark.parametrize("verdict", [Verdict.DENY, Verdict.REQUIRE_APPROVAL])
async def test_exemptions_are_asked_for_what_policies_refuse_and_not_for_a_stop(
    process: _Process, verdict: Verdict
) -> None:
    process.states.state = _state(1, has_exemptions=True)
    assert await process.passes(_Rules(verdict)) == "exempted"
    process.states.state = _state(1, has_exemptions=True, stops=(_STOP,))
    assert await process.passes(_Rules(verdict)) == "recorded"
    [decided] = process.way.seen
    assert (decided.decision.verdict, decided.decision.is_final) == (Verdict.DENY, True)
    assert decided.decision.record() == replace(decided.decision, is_final=False).record(), "not part of the record"


async def test_nothing_of_the_call_is_kept_while_it_waits(process: _Process) -> None:
    class _Large(SimpleNamespace):
        """One that can be watched."""

    freed: list[bool] = []

    async def hold(decided: Decided) -> str | DecideAgain | Held:
        if freed:
            return "recorded"
        watched = weakref.ref(decided.candidate)

        async def wait() -> DecideAgain:
            gc.collect()
            freed.append(watched() is None)
            return DecideAgain.AWAKE

        return Held(wait)

    async def bind(state: Any) -> BoundCandidate:
        return cast("BoundCandidate", _Large(agent_id="agt_a", draft=SimpleNamespace(tool="mail", call=None)))

    process.way.hold = hold  # type: ignore[method-assign] - the only one that is looked at
    process.way.bind = bind  # type: ignore[method-assign] - as above
    assert await process.passes(_Rules(Verdict.REQUIRE_APPROVAL)) == "recorded"
    assert freed == [True]
