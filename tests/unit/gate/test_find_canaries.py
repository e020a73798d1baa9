"""A canary token is found in each message of a WebSocket, also where the params have only its digest."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headgate.canaries.model import canary_set
from headgate.gate.candidate import bound, candidate_for
from headgate.gate.find_canaries import without_canaries
from headgate.kernel.fair_turns import FairTurns
from headgate.policies.model import Decision, RiskLevel, Verdict
from tests.unit.canaries.tokens import FIRST, KEY, canary_of
from tests.unit.gate.identities import ROBOT
from tests.unit.gate.test_judged_locations import message

_STATE: Any = SimpleNamespace(org_id="org_1", canaries=canary_set(KEY, [canary_of("first", FIRST)]))
_ALLOWED = Decision(Verdict.ALLOW, "allowed", RiskLevel.LOW, "pol_1", 1.0)


@pytest.mark.parametrize(
    ("content", "is_text"),
    [
        (FIRST.encode(), True),
        (b"x " * 40_000 + FIRST.encode(), True),
        (FIRST.encode(), False),
        (bytes(range(256)) * 4 + FIRST.encode() + b"\0\xff", False),
    ],
    ids=["short text", "long text", "text as bytes", "bytes"],
)
async def test_no_message_holds_a_canary(content: bytes, is_text: bool) -> None:
    candidate = bound(candidate_for(ROBOT, message(content, is_text=is_text)))
    turns = FairTurns(1, "canary tokens")
    decision = await without_canaries(cast("Any", _STATE), candidate, _ALLOWED, turns)
    assert (decision.verdict, [one["name"] for one in decision.canaries]) == (Verdict.DENY, ["first"])
