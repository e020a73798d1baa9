"""A recorded event as consumers see it, and who the consumers are."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from headgate.audit.model import Actor
from headgate.kernel.canonical_json import JsonObject


class Consumer(StrEnum):
    """Whose cursor it is; a name is stored and never changed."""

    WEBHOOKS = "webhooks"
    NOTIFICATIONS = "notifications"
    INTEGRATIONS = "integrations"


class RecordedEvent(Struct, frozen=True):
    """An event of the chain. ``actor`` is None and ``data`` empty where the payload was erased meanwhile."""

    event_id: str
    seq: int
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    actor: Actor | None
    data: JsonObject

    @property
    def approval_id(self) -> str | None:
        found = self.data.get("approval_id")
        return found if isinstance(found, str) else None
