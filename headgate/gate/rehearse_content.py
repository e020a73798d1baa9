"""Applies content policies in a dry run. Records and counts nothing."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from headgate.gate.candidate import BoundCandidate
from headgate.gate.judge_content import concerned_policies, judge, tighten
from headgate.gate.organization_state import OrganizationState
from headgate.gate.pipeline import Recall
from headgate.judges.model import Question
from headgate.nlp_policies.model import NlpPolicy, NlpResult
from headgate.nlp_policies.rehearsal import Rehearsals
from headgate.policies.model import Decision, Verdict


class RehearsedPolicy(Struct, frozen=True):
    """One that the live path would have asked. ``result`` None: left out, or after another's deny not waited for.
    ``question``: what a language model was asked, secrets masked; None: none was.
    """

    policy: NlpPolicy
    result: NlpResult | None
    question: Question | None
    is_left_out: bool


class RehearsedContent(Struct, frozen=True):
    decision: Decision
    policies: tuple[RehearsedPolicy, ...]

    @property
    def names(self) -> dict[str, str]:
        return {one.policy.policy_id: one.policy.draft.name for one in self.policies}

    def masked_by(self, again: Sequence[RehearsedPolicy]) -> tuple[RehearsedPolicy, ...]:
        """``again``: what was said of the call in which something was replaced. Of what was replaced, this says what it
        was."""
        found = {
            one.policy.policy_id: replace(one, result=replace(one.result, decision=Verdict.ALLOW))
            for one in self.policies
            if one.result is not None and one.result.to_mask
        }
        return tuple(found.get(one.policy.policy_id, one) for one in again)


class ContentRehearsal:
    """Of one dry run: ``asked`` is there after the decision. Not ``ask_judges``: policies that need a language model
    are left out."""

    def __init__(self, rehearsals: Rehearsals, *, ask_judges: bool) -> None:
        self._rehearsals = rehearsals
        self._ask_judges = ask_judges
        self.asked: tuple[RehearsedPolicy, ...] = ()

    async def tightened(
        self, state: OrganizationState, candidate: BoundCandidate, decision: Decision, recall: Recall
    ) -> Decision:
        """As ``ContentJudge.tightened``."""
        concerned = concerned_policies(state, candidate.draft, candidate.agent_id)
        asked = [one for one in concerned if self._ask_judges or one.draft.is_local]
        questions: list[Question] = []
        results: Sequence[NlpResult] = ()
        if asked:
            evaluator = self._rehearsals.evaluator(questions)
            results = await judge(evaluator, asked, candidate.draft, state.nlp_providers)
            decision = tighten(decision, results, asked)
        by_policy = {result.policy_id: result for result in results}
        of_policy = {question.identity[1]: question for question in questions}
        self.asked = tuple(
            RehearsedPolicy(
                one, by_policy.get(one.policy_id), of_policy.get(one.policy_id), is_left_out=one not in asked
            )
            for one in concerned
        )
        return decision
