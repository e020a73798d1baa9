"""The state of one held request."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Protocol

from msgspec import Struct, field

from headgate.approvals.wake_ups import Waiter
from headgate.connections.model import Connection
from headgate.gate.masking import NOT_MASKED, Masking
from headgate.policies.model import Requirement
from headgate.traffic.model import CaptureLevel

KEPT_MASKED_BYTES_MAX: Final = 4 << 10
"""Of a masked body that is kept while its call waits."""


class Client(Protocol):
    """The client of a held request, as the enforcement point sees it."""

    @property
    def connected(self) -> bool: ...


class Pending(Struct, frozen=True):
    """An undecided approval."""

    approval_id: str
    action_id: str
    expires_at: datetime
    requirements: tuple[Requirement, ...]


def _waits_on() -> None:
    """A client that names no deadline."""


class HeldCall(Struct, eq=False):
    """One request while it is held: who waits, for what, until when (the event loop's clock).

    ``client_seconds``: for how long from now the client reads an answer; asked once, when the call is held.
    The last three are of its last decision. ``capture``: what the policies say of keeping the request for review.
    ``connection``: whose credential the decision covers.
    """

    client: Client
    client_seconds: Callable[[], float | None] = _waits_on
    waiter: Waiter = field(default_factory=Waiter)
    pending: Pending | None = None
    deadline_seconds: float | None = None
    capture: CaptureLevel | None = None
    masking: Masking = NOT_MASKED
    connection: Connection | None = None

    def drop_large_body(self) -> None:
        """Drops a large masked body while the call waits. The next decision makes it again."""
        if self.masking.body is not None and len(self.masking.body) > KEPT_MASKED_BYTES_MAX:
            self.masking = NOT_MASKED

    def until(self, now: datetime) -> datetime | None:
        """The end of the wait by the wall clock. None: the call does not wait. To be called in the event loop."""
        left_seconds = (self.deadline_seconds or 0.0) - asyncio.get_running_loop().time()
        return now + timedelta(seconds=left_seconds) if left_seconds > 0 else None

    @property
    def approval_id(self) -> str | None:
        return None if self.pending is None else self.pending.approval_id
