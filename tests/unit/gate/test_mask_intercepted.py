"""An intercepted call in which something is replaced: what the enforcement point is told of it."""

import asyncio
import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from headgate.connections.errors import NoConnectionError
from headgate.gate.admit_call import _InterceptedCall
from headgate.gate.candidate import BoundCandidate, Candidate, bound, candidate_for
from headgate.gate.held_call import KEPT_MASKED_BYTES_MAX, HeldCall
from headgate.gate.masked_body import masked_in_time
from headgate.gate.masking import NOT_MASKED, Masking
from headgate.gate.pipeline import Decided
from headgate.nlp_policies.model import OnMatch
from headgate.policies.model import Decision, FoundText, RiskLevel, Verdict
from headgate.protocols.http_call import HttpCall, with_body_of
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues
from tests.unit.gate.identities import ROBOT
from tests.unit.gate.test_judged_locations import json_call

_MAIL = "maria@example.com"
_STATE: Any = SimpleNamespace(nlp_policies=())


@dataclass
class _Reading:
    operation: str | None = None
    charged: list[int] = field(default_factory=list)

    def charge_masked(self, size: int) -> None:
        self.charged.append(size)

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        draft = interpret(with_body_of(call, body), load_catalogues())
        return candidate_for(ROBOT, draft if self.operation is None else replace(draft, operation=self.operation))


def _decided(connection: Any = None) -> Decided:
    candidate = candidate_for(ROBOT, interpret(json_call({"to": _MAIL}), load_catalogues()))
    found = FoundText(("body", "to"), 0, len(_MAIL), "email")
    decision = Decision(Verdict.REQUIRE_APPROVAL, "found", RiskLevel.HIGH, "nlp_1", 1.0, to_mask=(found,))
    with_it = bound(replace(candidate, connection=connection))
    return Decided(_STATE, ROBOT, with_it, decision)


def _call(reading: _Reading, enforce: Any) -> _InterceptedCall:
    return _InterceptedCall(cast("Any", None), cast("Any", reading), HeldCall(cast("Any", None)), enforce)


async def test_a_call_that_would_be_another_operation_is_not_replaced() -> None:
    """Its answer would be inspected as one of the call that was sent."""
    enforced: list[Candidate] = []

    def enforce(_: object, candidate: Candidate) -> BoundCandidate:
        enforced.append(candidate)
        return bound(candidate)

    same, another = _Reading(), _Reading("another")
    masked = await _call(same, enforce).masked(_STATE, ROBOT, _decided())
    assert masked is not None and len(enforced) == 1
    assert await _call(another, enforce).masked(_STATE, ROBOT, _decided()) is None
    assert len(enforced) == 1
    assert same.charged[-1] > 0 and another.charged[-1] == 0


@pytest.mark.parametrize("connection", [None, object()])
async def test_a_call_that_would_lose_its_connection_is_not_replaced(connection: Any) -> None:
    """Its placeholder is among what would be replaced: in part, or wholly."""

    def enforce(_: object, candidate: Candidate) -> BoundCandidate:
        if connection is None:
            raise NoConnectionError("no connection has this name")
        return bound(candidate)

    assert await _call(_Reading(), enforce).masked(_STATE, ROBOT, _decided(connection)) is None


def test_the_credential_is_that_of_the_call_that_was_decided() -> None:
    """Not that of the last one that was looked at: of a replacement that was given up."""
    call = _call(_Reading(), lambda _, candidate: candidate)
    connection: Any = object()
    call._note(_decided(connection))
    assert call.held.connection is connection
    call._note(_decided())
    assert call.held.connection is None


@pytest.mark.parametrize("items", [10, 30_000])
async def test_a_large_body_holds_up_nobody(items: int) -> None:
    """30,000 values take a tenth of a second and more."""
    body = json.dumps({"to": _MAIL, "items": [1] * items}).encode()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    made = await masked_in_time((), "", body, [FoundText(("body", "to"), 0, len(_MAIL), "email")])
    task.cancel()
    assert made is not None and made.count == 1
    assert (turns > 1) == (len(body) > 4 << 10)


def _entry(decision: str, outcome: str = "match", error: str | None = None, policy_id: str = "nlp_1") -> Any:
    return {"policy_id": policy_id, "decision": decision, "outcome": outcome, "error": error}


_MASKING: Any = SimpleNamespace(
    nlp_policies=tuple(
        SimpleNamespace(policy_id=policy_id, draft=SimpleNamespace(on_match=on_match))
        for policy_id, on_match in (("nlp_1", OnMatch.MASK), ("nlp_2", OnMatch.MASK), ("nlp_3", OnMatch.DENY))
    )
)


@pytest.mark.parametrize(
    ("entries", "is_left", "is_complete"),
    [
        ((_entry("mask"),), False, True),
        ((_entry("allow", "clear"),), False, True),
        ((_entry("mask"),), True, False),
        ((_entry("require_approval"),), True, False),
        ((_entry("require_approval"),), False, False),
        ((_entry("mask"), _entry("require_approval", policy_id="nlp_2")), False, False),
        ((_entry("allow", "clear", "unscannable"),), False, True),
        ((_entry("require_approval", "error", "timeout"),), False, False),
        ((_entry("deny", policy_id="nlp_3"),), False, True),
        ((), False, True),
    ],
    ids=[
        *("masked", "clear", "masked in part", "not masked", "found where nothing can be replaced", "one of two"),
        *("passes unopened", "late", "denied by another policy before", "denied by a rule before"),
    ],
)
def test_what_is_left_of_what_a_policy_masks_is_noted(entries: Any, is_left: bool, is_complete: bool) -> None:
    decided = _decided()
    decision = replace(decided.decision, nlp=entries, to_mask=decided.decision.to_mask if is_left else ())
    call = _call(_Reading(), lambda _, candidate: candidate)
    assert call.held.masking is NOT_MASKED
    call._note(replace(decided, state=_MASKING, decision=decision))
    assert call.held.masking == Masking(None, is_complete)


@pytest.mark.parametrize(("size", "is_kept"), [(KEPT_MASKED_BYTES_MAX, True), (KEPT_MASKED_BYTES_MAX + 1, False)])
def test_a_large_masked_body_is_not_kept_while_its_call_waits(size: int, is_kept: bool) -> None:
    masking = Masking(b"x" * size, is_complete=True)
    held = HeldCall(cast("Any", None), masking=masking)
    held.drop_large_body()
    assert held.masking is (masking if is_kept else NOT_MASKED)
