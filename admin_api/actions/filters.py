"""Which actions a list is of."""

from typing import Annotated, Literal

from fastapi import Query

from headgate.actions.model import ActionStatus

type WantedStatus = ActionStatus | Literal["succeeded"]
type WantedTag = Annotated[
    str | None, Query(max_length=64, description="A kind that a content policy with on_match tag found.")
]


def wanted_status(status: WantedStatus | None) -> ActionStatus | None:
    """The reference's ``succeeded`` is ``completed``."""
    if status is None or isinstance(status, ActionStatus):
        return status
    return ActionStatus.COMPLETED
