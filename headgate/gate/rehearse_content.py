"""NLP policies in a dry run: what they would make of the rules' decision, with nothing recorded or counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.gate.judge_content import concerned_policies, judge, tighten
from headgate.gate.organization_state import OrganizationState
from headgate.judges.model import Question
from headgate.nlp_policies.model import NlpPolicy, NlpResult
from headgate.nlp_policies.rehearsal import Rehearsals
from headgate.policies.model import Decision, Verdict
from headgate.protocols.draft import ActionDraft


@dataclass(frozen=True, slots=True)
class RehearsedPolicy:
    """One that the live path would have asked. ``result`` None: left out, or after another's deny not waited for.
    ``question``: what a language model was asked, secrets masked; None: none was.
    """

    policy: NlpPolicy
    result: NlpResult | None
    question: Question | None
    is_left_out: bool


@dataclass(frozen=True, slots=True)
class RehearsedContent:
    decision: Decision
    policies: tuple[RehearsedPolicy, ...]

    @property
    def names(self) -> dict[str, str]:
        return {one.policy.policy_id: one.policy.draft.name for one in self.policies}


class ContentRehearsal:
    def __init__(self, rehearsals: Rehearsals) -> None:
        self._rehearsals = rehearsals

    async def tightened(
        self, state: OrganizationState, draft: ActionDraft, agent_id: str, decision: Decision, *, ask_judges: bool
    ) -> RehearsedContent:
        """As ``ContentJudge.tightened``. Not ``ask_judges``: policies that need a language model are left out."""
        if decision.verdict is Verdict.DENY:
            return RehearsedContent(decision, ())
        concerned = concerned_policies(state, draft, agent_id)
        asked = [one for one in concerned if ask_judges or one.draft.is_local]
        questions: list[Question] = []
        results: Sequence[NlpResult] = ()
        if asked:
            results = await judge(self._rehearsals.evaluator(questions), asked, draft, state.nlp_providers)
            decision = tighten(decision, results, {one.policy_id: one.draft.name for one in asked})
        by_policy = {result.policy_id: result for result in results}
        of_policy = {question.identity[1]: question for question in questions}
        return RehearsedContent(
            decision,
            tuple(
                RehearsedPolicy(
                    one, by_policy.get(one.policy_id), of_policy.get(one.policy_id), is_left_out=one not in asked
                )
                for one in concerned
            ),
        )
