"""Extracts the usage of language models from the outcomes of a round. Pure."""

from collections.abc import Iterable

from headgate.actions.recorded_entry import OutcomeEntry
from headgate.db.arrays import NULL, instant_of, text_of
from headgate.llm_usage.model import ModelUse, day_of
from headgate.llm_usage.of_outcome import says_usage, use_in


def uses_of(outcomes: Iterable[OutcomeEntry]) -> list[ModelUse]:
    """Raises nothing: the counters are no reason to set an outcome aside."""
    found = (
        use_in(
            text_of(outcome.result),
            execution_id=text_of(outcome.execution_id),
            agent_id=text_of(outcome.agent_id),
            day=day_of(instant_of(outcome.completed_at)),
        )
        for outcome in outcomes
        if outcome.result != NULL and says_usage(outcome.result)
    )
    return [use for use in found if use is not None]
