"""The order in which a call is decided, for every way in:

1. precondition  a closed destination or a stop denies for good
2. rules         Rego policies
3. content       canary tokens; policies about content, on what is not denied; they only make a decision stricter
   masking       where one of them masks: steps 1 to 3 again, for the call with what was found replaced
4. exemption     a grant where a policy asks for approval, a break-glass pass where one denies
5. hold          where a policy asks for approval
6. record        allowed or denied; without the values of canary tokens

``DecisionPipeline`` has steps 1 to 3. Dry runs, edited actions and executions that are decided again end there;
``pass_through`` takes intercepted calls and explicit actions through all six.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from functools import partial
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from headgate.agents.model import KeyIdentity
from headgate.gate.caller import Caller, Callers
from headgate.gate.candidate import BoundCandidate
from headgate.gate.find_canaries import masked_candidate, without_canaries
from headgate.gate.masking import NOT_MASKED, NOTHING_TO_MASK, Masking
from headgate.gate.organization_state import MOST_DECISIONS, UNSETTLED, OrganizationState
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import UnavailableError
from headgate.kernel.fair_turns import FairTurns
from headgate.nlp_policies.model import OnMatch, Outcome
from headgate.nlp_policies.recall import NOTHING_RECALLED, Recalled
from headgate.policies.model import Decision, Verdict

_SCANS_AT_ONCE: Final = 2
"""They hold the interpreter's lock, as detectors do."""

type Precondition = Callable[[OrganizationState, BoundCandidate], Decision | None]
type Recall = Callable[[], Awaitable[Recalled]]
"""What judges said of this call when its approval was opened; asked for only where one would be asked again."""


class RuleDecider(Protocol):
    """Step 2."""

    def at_once(self, state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
        """None: it takes a turn."""

    async def in_turn(self, state: OrganizationState, candidate: BoundCandidate) -> Decision:
        """Raises UnavailableError."""


class ContentDecider(Protocol):
    """Step 3."""

    async def tightened(
        self, state: OrganizationState, candidate: BoundCandidate, decision: Decision, recall: Recall
    ) -> Decision:
        """``decision`` or a stricter one. Raises what ``recall`` raises."""


async def recall_nothing() -> Recalled:
    return NOTHING_RECALLED


class DecisionPipeline(Struct, frozen=True):
    """``observe`` receives each decision of steps 1 and 2, and of canary tokens."""

    precondition: Precondition
    rules: RuleDecider
    content: ContentDecider
    observe: Callable[[Decision], None] = lambda decision: None
    scans: FairTurns = field(default_factory=lambda: FairTurns(_SCANS_AT_ONCE, "canary tokens", rests=True))

    async def decide(
        self, state: OrganizationState, candidate: BoundCandidate, recall: Recall = recall_nothing
    ) -> Decision:
        """Raises UnavailableError where too many wait for a turn, and what ``recall`` raises."""
        decision = self._without_content(state, candidate) or await self.rules.in_turn(state, candidate)
        if state.canaries:
            decision = await without_canaries(state, candidate, decision, self.scans)
        self.observe(decision)
        if state.nlp_policies and decision.verdict is not Verdict.DENY:
            decision = await self.content.tightened(state, candidate, decision, recall)
        return decision

    def decide_at_once(self, state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
        """The same, where nothing has to be awaited; None: use ``decide``."""
        return None if state.nlp_policies or state.canaries else self._without_content(state, candidate)

    def _without_content(self, state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
        return self.precondition(state, candidate) or self.rules.at_once(state, candidate)


class Decided(Struct, frozen=True):
    """A call with its decision, and whose it is; all of one generation."""

    state: OrganizationState
    identity: KeyIdentity
    candidate: BoundCandidate
    decision: Decision


class DecideAgain(Enum):
    """No answer yet. ``STALE``: the state moved; ``AWAKE``: something happened to the approval."""

    STALE = "stale"
    AWAKE = "awake"


class Held(Struct, frozen=True):
    """The call waits for a person. Nothing of a large call is kept meanwhile: ``wait`` holds no candidate."""

    wait: Callable[[], Awaitable[DecideAgain]]


class Masked(Struct, frozen=True):
    """A call in which something was replaced: what is sent, recorded, and approved in place of the other."""

    candidate: BoundCandidate
    count: int
    kinds: tuple[str, ...]


type Bind = Callable[[OrganizationState], Awaitable[BoundCandidate | None]]
"""The call with its connection in a state; None: the state moved meanwhile. Raises HeadgateError."""


class WayIn[Answer](Protocol):
    """How a call is exempted, held and recorded. Each raises HeadgateError."""

    async def recall(self, identity: KeyIdentity, candidate: BoundCandidate) -> Recalled:
        """See ``Recall``."""

    async def masked(self, state: OrganizationState, identity: KeyIdentity, decided: Decided) -> Masked | None:
        """The call with what the decision would replace (``to_mask``); None: it cannot be."""

    async def exempt(self, decided: Decided) -> Answer | DecideAgain | None:
        """None: nothing exempts it."""

    async def hold(self, decided: Decided) -> Answer | DecideAgain | Held:
        """Opens or joins its approval."""

    async def record(self, decided: Decided) -> Answer | DecideAgain:
        """Allowed or denied."""


async def pass_through[Answer](
    pipeline: DecisionPipeline, callers: Callers, caller: Caller, way: WayIn[Answer], bind: Bind
) -> Answer:
    """Decides again while the state moves (semantics.md, "Fresh state"). Raises what ``way`` and ``bind`` raise,
    UnauthorizedError, UnavailableError."""
    stale = 0
    while stale < MOST_DECISIONS:
        state, identity = await callers.at_one_generation(caller)
        candidate = await bind(state)
        if candidate is None:
            stale += 1
            continue
        decision = await pipeline.decide(state, candidate, partial(way.recall, identity, candidate))
        decided = Decided(state, identity, candidate, decision)
        if decision.to_mask and decision.verdict is not Verdict.DENY:
            decided = await _with_masked(pipeline, way, decided)
        candidate, decision = decided.candidate, decided.decision
        answer: Answer | DecideAgain | Held | None = None
        if decision.verdict is not Verdict.ALLOW and not decision.is_final and state.has_exemptions:
            answer = await way.exempt(decided)
        if answer is None and decision.verdict is Verdict.REQUIRE_APPROVAL:
            answer = await way.hold(decided)
        elif answer is None:
            if decision.canaries:
                decided = replace(decided, candidate=await masked_candidate(state, candidate, pipeline.scans))
            answer = await way.record(decided)
        del candidate, decided
        if isinstance(answer, Held):
            answer = await answer.wait()
        if answer is DecideAgain.STALE:
            stale += 1
            await callers.states.newer_than(state)
        elif answer is not DecideAgain.AWAKE:
            return answer
    raise UnavailableError(UNSETTLED, retry_after_seconds=1)


async def _with_masked[Answer](pipeline: DecisionPipeline, way: WayIn[Answer], decided: Decided) -> Decided:
    """The call with what was found replaced, and the decision about that; or as it is, where it is to be held."""
    masked = await way.masked(decided.state, decided.identity, decided)
    if masked is None:
        return decided
    recall = partial(way.recall, decided.identity, masked.candidate)
    decision = await decide_masked(pipeline, decided.state, decided.decision, masked, recall)
    return decided if decision is None else replace(decided, candidate=masked.candidate, decision=decision)


async def decide_masked(
    pipeline: DecisionPipeline, state: OrganizationState, first: Decision, masked: Masked, recall: Recall
) -> Decision | None:
    """The decision about the call in which something was replaced. None: a policy that masks still finds something in
    it, or cannot look at all of it. Then that policy holds the call as it was (``first``)."""
    second = await pipeline.decide(state, masked.candidate, recall)
    before = {str(entry["policy_id"]): entry for entry in first.nlp}
    masking = _masking_policies(state) & before.keys()
    said = {str(entry["policy_id"]): entry for entry in second.nlp}
    is_proven = all(one in said and _is_clear(said[one]) for one in masking)
    if second.verdict is not Verdict.DENY and not is_proven:
        return None
    found = {one for one in masking if before[one]["outcome"] == Outcome.MATCH}
    return replace(
        second,
        nlp=tuple(
            {**before[policy_id], "decision": OnMatch.MASK.value} if policy_id in found else entry
            for policy_id, entry in said.items()
        ),
        evaluation_time_ms=round(first.evaluation_time_ms + second.evaluation_time_ms, 3),
        to_mask=() if is_proven else first.to_mask,
        masked={"count": masked.count, "kinds": list(masked.kinds)},
    )


def masking_of(decided: Decided) -> Masking:
    """Not complete where a policy that masks found something that is still in the call, or failed. Complete where no
    such policy looked, because the call was denied before, and where it lets content pass that cannot be opened
    (``on_unscannable``)."""
    decision = decided.decision
    masking = _masking_policies(decided.state)
    is_complete = not decision.to_mask and all(
        entry["outcome"] == Outcome.CLEAR or entry["decision"] == OnMatch.MASK.value
        for entry in decision.nlp
        if str(entry["policy_id"]) in masking
    )
    if decision.masked is None:
        return NOTHING_TO_MASK if is_complete else NOT_MASKED
    return Masking(decided.candidate.draft.content, is_complete)


def _masking_policies(state: OrganizationState) -> set[str]:
    return {one.policy_id for one in state.nlp_policies if one.draft.on_match is OnMatch.MASK}


def _is_clear(entry: JsonObject) -> bool:
    """Nothing was found, and all was inspected."""
    return entry["outcome"] == Outcome.CLEAR and entry["error"] is None
