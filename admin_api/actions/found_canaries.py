"""The canary tokens that a decision found in its call, for the people who ask why it was denied."""

from admin_api.schema import BaseModel
from headgate.actions.model import RecordedDecision


class FoundCanaryAnswer(BaseModel):
    canary_id: str
    name: str
    place: str


def found_canaries(decision: RecordedDecision) -> list[FoundCanaryAnswer]:
    """As the decision recorded them, in the order in which they were found."""
    return [FoundCanaryAnswer.model_validate(one) for one in decision.canaries]
