"""One request while a person is asked about it."""

from dataclasses import dataclass, field
from typing import Protocol

from headgate.approvals.wake_ups import Waiter
from headgate.traffic.model import CaptureLevel


class Client(Protocol):
    """Whoever waits for the answer, as the enforcement point sees it."""

    @property
    def connected(self) -> bool: ...


@dataclass(slots=True)
class HeldCall:
    """One request while it is held: who waits, for which approval, until when (the event loop's clock). ``capture``:
    what the policies of its last decision say of keeping it for review."""

    client: Client
    waiter: Waiter = field(default_factory=Waiter)
    approval_id: str | None = None
    deadline_seconds: float | None = None
    capture: CaptureLevel | None = None
