"""Where a decision is made: in the event loop's thread while it is fast, beside it where it is not."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate import fair_decisions
from headgate.gate.candidate import BoundCandidate, bound, candidate_for
from headgate.gate.fair_decisions import INLINE_INPUT_BYTES_MAX, FairDecisions
from headgate.gate.organization_state import OrganizationState
from headgate.kernel import loop_share
from headgate.organizations.destinations import Allowlist
from headgate.policies import compile as compile_module
from headgate.policies import evaluate
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import Decision, RulePolicy, Verdict
from headgate.protocols.draft import Source, make_draft

_FAST = "package t\nimport rego.v1\nallow := true"
_SLOW = _FAST.replace(":= true", "if not found") + (
    "\nfound if { some a in numbers.range(1, 120); some b in numbers.range(1, 120); a * b < 0 }"
)
_NOW = datetime(2026, 11, 22, tzinfo=UTC)


def _state(rego: str, org_id: str = "org_a") -> OrganizationState:
    policy = RulePolicy("pol_1", 1, "one", None, rego, True, 100, None, _NOW, _NOW, org_id)
    return OrganizationState(org_id, 1, PolicySet([policy], b"{}"), Allowlist.empty())


def _candidate(agent_id: str = "agt_a", size: int = 0) -> BoundCandidate:
    identity = KeyIdentity("org_a", "key_1", KeyKind.AGENT, agent_id, "Robot", None, frozenset(), None, 1)
    draft = make_draft(tool="mail", operation="send", params={"text": "x" * size}, source=Source.API)
    return bound(candidate_for(identity, draft))


async def _decided(decisions: FairDecisions, state: OrganizationState, candidate: BoundCandidate) -> Decision:
    return decisions.at_once(state, candidate) or await decisions.in_turn(state, candidate)


@pytest.fixture
async def decisions(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FairDecisions]:
    # By the clock, and a pause of a busy machine beside the slow policy's 20 ms would be over both: it denies then.
    monkeypatch.setattr(compile_module, "TIME_LIMIT_MILLISECONDS", 10_000)
    monkeypatch.setattr(evaluate, "DECISION_MILLISECONDS_MAX", 10_000)
    made = FairDecisions()
    yield made
    made.close()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In which thread each decision was made."""
    seen: list[str] = []
    real = fair_decisions.decide

    def watched(*arguments: Any) -> Decision:
        seen.append("loop" if threading.current_thread() is threading.main_thread() else "beside")
        return real(*arguments)

    monkeypatch.setattr(fair_decisions, "decide", watched)
    return seen


async def test_fast_policies_are_asked_at_once(decisions: FairDecisions, threads: list[str]) -> None:
    state = _state(_FAST)
    for _ in range(20):
        decision = decisions.at_once(state, _candidate())
        assert decision is not None
        assert decision.verdict is Verdict.ALLOW
    assert threads == ["loop"] * 20


async def test_slow_policies_stay_beside_the_loop_until_they_are_fast_for_a_while(
    decisions: FairDecisions, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a slow machine the first decisions alone would use up the organization's part of the loop.
    monkeypatch.setattr(loop_share, "_BURST_SECONDS", 600.0)
    for _ in range(20):
        assert (await _decided(decisions, _state(_SLOW), _candidate())).verdict is Verdict.ALLOW
    inline = threads.index("beside")
    assert 0 < inline < 10
    assert set(threads[inline:]) == {"beside"}
    assert decisions.at_once(_state(_SLOW), _candidate("agt_fast")) is not None, "of other agents nothing is known"
    asked = 0
    while decisions.at_once(_state(_FAST), _candidate()) is None:
        await decisions.in_turn(_state(_FAST), _candidate())
        asked += 1
    assert 3 < asked < 60


async def test_a_large_input_is_read_beside_the_loop(decisions: FairDecisions, threads: list[str]) -> None:
    for _ in range(3):
        assert (
            await _decided(decisions, _state(_FAST), _candidate(size=INLINE_INPUT_BYTES_MAX))
        ).verdict is Verdict.ALLOW
    await _decided(decisions, _state(_FAST), _candidate())
    assert threads == ["beside"] * 3 + ["loop"]


async def test_an_organization_with_many_agents_has_one_allowance_of_the_loop(
    decisions: FairDecisions, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each agent's first decision would otherwise take the loop's time."""
    monkeypatch.setattr(decisions._share, "_clock", lambda: 0.0)  # no time passes in which more is earned
    monkeypatch.setattr(loop_share, "_BURST_SECONDS", 0.1)
    state = _state(_SLOW)
    for number in range(60):
        await _decided(decisions, state, _candidate(f"agt_{number}"))
    assert threads[0] == "loop"  # on a busy machine one alone may use up the allowance
    assert threads.count("loop") < 30, "25 ms of the burst"
    threads.clear()
    await _decided(decisions, _state(_FAST, "org_b"), _candidate("agt_b"))
    assert threads == ["loop"]


async def test_alone_an_organization_has_all_of_the_loop_until_another_comes(
    decisions: FairDecisions, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Policies that are fast, asked so often that together they use more than their part of the loop."""
    now = [0.0]
    monkeypatch.setattr(decisions._share, "_clock", lambda: now[0])
    monkeypatch.setattr(loop_share, "LOOP_SHARE", 1e-6)
    await _decided(decisions, _state(_FAST), _candidate())
    now[0] = 2.0
    for _ in range(20):
        await _decided(decisions, _state(_FAST), _candidate())
    assert threads == ["loop"] * 21
    await _decided(decisions, _state(_FAST, "org_b"), _candidate("agt_b"))
    threads.clear()
    for _ in range(5):
        await _decided(decisions, _state(_FAST), _candidate())
    assert threads == ["beside"] * 5


async def test_another_organization_does_not_wait_for_the_backlog(decisions: FairDecisions, threads: list[str]) -> None:
    slow, other = _state(_SLOW), replace(_state(_SLOW), org_id="org_b")
    while threads[-2:] != ["beside"] * 2:
        await _decided(decisions, slow, _candidate("agt_a"))
        await _decided(decisions, other, _candidate("agt_b"))
    done: list[str] = []

    async def ask(state: OrganizationState, agent_id: str) -> None:
        await _decided(decisions, state, _candidate(agent_id))
        done.append(agent_id)

    await asyncio.gather(*(ask(slow, "agt_a") for _ in range(30)), ask(other, "agt_b"))
    assert done.index("agt_b") <= 2
    assert decisions.waiting == 0


async def test_a_decision_beside_the_loop_is_the_same(decisions: FairDecisions) -> None:
    state = _state('package t\nimport rego.v1\ndeny contains "no" if input.params.text != ""')
    for size in (1, INLINE_INPUT_BYTES_MAX):
        decision = await _decided(decisions, state, _candidate(size=size))
        assert (decision.verdict, decision.reason) == (Verdict.DENY, "no")
