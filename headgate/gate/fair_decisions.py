"""Evaluates rule policies so that no organization and no agent delays another.

Fast decisions run at once in the event loop's thread. A second thread decides in fair turns for agents whose last
decisions were slow, for organizations that used up their share of the first thread, and for large inputs; the engine
releases the interpreter's lock. The second thread rests as long as it works, so that slow policies get half of a
processor at most.
"""

from collections.abc import Callable, Iterator
from typing import Final

from headgate.gate.candidate import BoundCandidate
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.loop_share import LoopShare
from headgate.kernel.slowness import Slowness
from headgate.kernel.stopwatch import Stopwatch
from headgate.policies.marker import Marker
from headgate.policies.model import Decision

INLINE_INPUT_BYTES_MAX: Final = 64 << 10
"""Reading so much takes the engine a millisecond."""
_TURN_MILLISECONDS: Final = 10
"""Of a processor, after which a list of questions leaves the second thread to others."""


class FairDecisions:
    """The policies of one process. ``marker`` is that of the thread beside the loop."""

    def __init__(self, marker: Marker | None = None) -> None:
        self._marker = marker
        self._turns = FairTurns(1, "a decision, because the policies about them are slow", rests=True)
        self._slowness = Slowness()
        self._share = LoopShare()

    def close(self) -> None:
        self._turns.close()

    @property
    def waiting(self) -> int:
        """Calls whose turn has not come."""
        return self._turns.waiting

    def at_once(self, state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
        """None: it takes a turn."""
        agent_id, org_id = candidate.agent_id, state.org_id
        if self._slowness.expects(agent_id) or len(candidate.rego_input) > INLINE_INPUT_BYTES_MAX:
            return None
        if not self._share.allows(org_id):
            return None
        watch = Stopwatch()
        decision = decide(state, candidate, watch)
        took = watch.processor_milliseconds()
        self._share.charge(org_id, took / 1000)
        self._slowness.note(agent_id, took)
        return decision

    async def in_turn(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        """Raises UnavailableError where too many of the same wait."""
        async with self._turns.turn(state.org_id, candidate.agent_id) as turn:
            decision, took = await turn.in_thread(self._timed, state, candidate)
        self._slowness.note(candidate.agent_id, took)
        return decision

    async def in_turns[Answer](
        self, org_id: str, agent_id: str, steps: Iterator[Callable[[Marker | None], Answer]]
    ) -> list[Answer]:
        """What each of ``steps`` answers, asked in the second thread, in turns of a few milliseconds: a list of
        questions delays nobody longer than one does. Raises UnavailableError where too many of the same wait."""
        answers: list[Answer] = []
        is_over = False
        while not is_over:
            async with self._turns.turn(org_id, agent_id) as turn:
                answered, is_over = await turn.in_thread(self._some, steps)
            answers += answered
        return answers

    def _some[Answer](self, steps: Iterator[Callable[[Marker | None], Answer]]) -> tuple[list[Answer], bool]:
        """Until the turn is over, and whether no step is left."""
        watch, answers = Stopwatch(), []
        for step in steps:
            answers.append(step(self._marker))
            if watch.processor_milliseconds() > _TURN_MILLISECONDS:
                return answers, False
        return answers, True

    def _timed(self, state: OrganizationState, candidate: BoundCandidate) -> tuple[Decision, float]:
        watch = Stopwatch()
        decision = decide(state, candidate, watch, self._marker)
        return decision, watch.processor_milliseconds()


def decide(
    state: OrganizationState, candidate: BoundCandidate, watch: Stopwatch | None = None, marker: Marker | None = None
) -> Decision:
    """What the rule policies of this state say. ``marker``: of the thread that asks, where it is not the event
    loop's."""
    draft = candidate.draft
    return state.policies.decide(
        candidate.rego_input,
        tool=draft.tool,
        operation=draft.operation,
        host=None if draft.call is None else draft.call.host,
        method=None if draft.call is None else draft.call.method,
        watch=watch,
        marker=marker,
    )
