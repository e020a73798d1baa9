"""What policies would say of a content that nobody sends: the same answer, and no counter of the live path moved.

Language models are really asked, since their answers cannot be known otherwise. Those questions are bounded by each
policy's ``daily_limit`` too, but counted apart.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from headgate.classifiers.classifiers import Classifiers
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges, always
from headgate.judges.model import Question, Verdict
from headgate.nlp_policies.evaluate import Evaluator


class Rehearsals(Struct, frozen=True):
    """Of one process: the live path's judges and budgets, and what rehearsals have spent of their own."""

    judges: Judges
    budgets: DailyBudgets
    spent: DailyBudgets
    classifiers: Classifiers = field(default_factory=lambda: Classifiers(None))

    def evaluator(self, asked: list[Question]) -> Evaluator:
        """One that leaves no trace; every question that a judge would get is added to ``asked``."""
        judges, budgets = _RehearsedJudges(self.judges, asked), _RehearsedBudgets(self.budgets, self.spent)
        return Evaluator(judges, budgets, classifiers=self.classifiers)


class _RehearsedJudges(Struct, frozen=True):
    judges: Judges
    asked: list[Question]

    async def ask(
        self, question: Question, *, may_ask: Callable[[], Awaitable[bool]] = always, use_cache: bool = True
    ) -> Verdict:
        del use_cache  # what is known is what the live path would answer
        self.asked.append(question)
        return await self.judges.rehearse(question, may_ask=may_ask)


class _RehearsedBudgets(Struct, frozen=True):
    live: DailyBudgets
    spent: DailyBudgets

    async def spend(self, policy_key: str, limit: int) -> bool:
        return self.live.has_left(policy_key, limit) and await self.spent.spend(policy_key, limit)
