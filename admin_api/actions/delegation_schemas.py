"""What an action shows of who delegated it, and to whom it was delegated."""

from collections.abc import Sequence

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.actions.delegation import Chain, Delegate, SubActions


class DelegateAnswer(BaseModel):
    """One action of the chain or of the tree. ``depth``: its distance in steps."""

    id: str
    parent_action_id: str | None
    agent_id: str
    agent_name: str | None
    tool: str
    operation: str
    status: str
    depth: int


class DelegationAnswer(BaseModel):
    """The chain above and the tree below. An agent key sees only the actions of its own agent."""

    chain: list[DelegateAnswer] = Field(
        description="The actions on whose behalf this one was submitted, nearest first."
    )
    sub_actions: list[DelegateAnswer] = Field(
        description="The sub-actions, nearest first. parent_action_id names the parent."
    )
    sub_actions_is_minimum: bool = Field(description="True if there are more than the 100 that are shown.")


def delegation_answer(chain: Chain, below: SubActions) -> DelegationAnswer:
    return DelegationAnswer(
        chain=_answers(chain),
        sub_actions=_answers(below.actions),
        sub_actions_is_minimum=below.is_minimum,
    )


def _answers(delegates: Sequence[Delegate]) -> list[DelegateAnswer]:
    return [
        DelegateAnswer(
            id=one.action_id,
            parent_action_id=one.parent_action_id,
            agent_id=one.agent_id,
            agent_name=one.agent_name,
            tool=one.tool,
            operation=one.operation,
            status=one.status,
            depth=one.depth,
        )
        for one in delegates
    ]
