"""Which actions a list is of."""

from typing import Literal

from headgate.actions.model import ActionStatus

type WantedStatus = ActionStatus | Literal["succeeded"]


def wanted_status(status: WantedStatus | None) -> ActionStatus | None:
    """The reference's ``succeeded`` is ``completed``."""
    if status is None or isinstance(status, ActionStatus):
        return status
    return ActionStatus.COMPLETED
