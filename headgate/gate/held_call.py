"""The state of one held request."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from headgate.approvals.wake_ups import Waiter
from headgate.policies.model import Requirement
from headgate.traffic.model import CaptureLevel


class Client(Protocol):
    """The client of a held request, as the enforcement point sees it."""

    @property
    def connected(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Pending:
    """An undecided approval."""

    approval_id: str
    action_id: str
    expires_at: datetime
    requirements: tuple[Requirement, ...]


@dataclass(slots=True, eq=False)
class HeldCall:
    """One request while it is held: who waits, for what, until when (the event loop's clock). ``capture``: what the
    policies of its last decision say of keeping it for review."""

    client: Client
    waiter: Waiter = field(default_factory=Waiter)
    pending: Pending | None = None
    deadline_seconds: float | None = None
    capture: CaptureLevel | None = None

    @property
    def approval_id(self) -> str | None:
        return None if self.pending is None else self.pending.approval_id
