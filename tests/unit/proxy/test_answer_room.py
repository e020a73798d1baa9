"""An inspected answer has a limit and a budget: beyond them it is withheld, and the memory is given back."""

from typing import TYPE_CHECKING, cast

import pytest
from mitmproxy.connection import Client

from addons.inspection import AnswerLimits, Inspection
from addons.memory_charge import MemoryCharge
from addons.verdict import ClientState
from headgate.gate.inspect_answer import AnswerJudge
from headgate.gate.judged_answer import AnsweredCall
from proxy.answer_room import AnswerRoom
from proxy.budget import BufferBudget

if TYPE_CHECKING:
    from headgate.nlp_policies.evaluate import Evaluator

_LIMIT = 100


class Held:
    """One answer, and the budget that it is counted in."""

    def __init__(self, budget_bytes: int) -> None:
        client = ClientState(Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2)), lambda reason: None)
        judge = AnswerJudge(cast("Evaluator", None), (), {}, AnsweredCall("http", "get"), "agt_1")
        limits = AnswerLimits(body=_LIMIT)
        self.budget = BufferBudget(budget_bytes)
        self.inspection = Inspection(judge, limits, action_id="act_1", mcp_id=None, request_id="r")
        self.room = AnswerRoom(self.inspection, MemoryCharge(self.budget, client))


def test_an_answer_is_counted_as_it_grows_and_released_once() -> None:
    held = Held(1000)
    assert not held.room.release()
    assert held.room.holds(40)
    assert held.room.holds(_LIMIT)
    assert held.budget.used_bytes == _LIMIT
    assert held.room.release()
    assert not held.room.release()
    assert (held.budget.used_bytes, held.inspection.is_withheld) == (0, False)


def test_an_answer_over_the_limit_is_withheld() -> None:
    held = Held(1000)
    assert held.room.holds(_LIMIT)
    assert not held.room.holds(_LIMIT + 1)
    assert held.inspection.is_withheld
    assert not held.room.holds(1), "a withheld answer needs no room"


@pytest.mark.parametrize("of_reading", [False, True])
def test_more_than_is_inspected_may_be_held(of_reading: bool) -> None:
    """Of an answer whose beginning is enough, and of what an answer takes while it is read."""
    held = Held(1000)
    assert held.room.reserves(500) if of_reading else held.room.holds(500, in_part=True)
    assert (held.budget.used_bytes, held.inspection.is_withheld) == (500, False)


def test_an_answer_without_memory_is_withheld() -> None:
    held = Held(60)
    assert held.room.holds(60)
    assert not held.room.holds(61)
    assert held.inspection.is_withheld
    assert held.budget.used_bytes == 60, "what came before stays counted until it is released"
    assert held.room.release()
    assert held.budget.used_bytes == 0
