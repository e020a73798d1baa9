"""What the record, the log and the metrics hear of second factors."""

from datetime import datetime
from typing import Final

import structlog
from prometheus_client import Counter

from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.mfa.attempts import Counted
from headgate.mfa.model import Attempted, Person

_log = structlog.get_logger(__name__)

ATTEMPTS: Final = Counter(
    "headgate_api_mfa_attempts",
    "Codes that people presented, by kind (recovery_code, totp) and outcome (accepted, refused, locked).",
    ["attempted", "outcome"],
)


async def tell(connection: Connection, person: Person, event_type: EventType, at: datetime, data: JsonObject) -> None:
    """In the caller's transaction."""
    about: JsonObject = {"user_id": person.user_id, "email": person.email, **data}
    await append(connection, person.org_id, [Event(event_type, at, person.actor, about)])


async def tell_refusal(
    connection: Connection, person: Person, attempted: Attempted, counted: Counted, at: datetime
) -> None:
    """A wrong code; where it was the last one for now, an alert too (notifications' event ``mfa.locked``)."""
    ATTEMPTS.labels(attempted.value, "refused").inc()
    refused: JsonObject = {"attempted": attempted.value, "count": counted.here.count}
    await tell(connection, person, EventType.MFA_REFUSED, at, refused)
    lock = counted.lock
    if lock is None or lock.locked_until is None:
        return
    is_everywhere = lock is counted.everywhere
    ATTEMPTS.labels(attempted.value, "locked").inc()
    _log.warning("mfa_locked", org_id=person.org_id, user_id=person.user_id, attempted=attempted.value)
    until = rfc3339(lock.locked_until)
    kind = attempted.value.replace("_", " ")
    data: JsonObject = {
        "attempted": attempted.value,
        "locked_until": until,
        "lock_outs": lock.lock_outs,
        "source": None if is_everywhere else person.source,
        "reason": f"{lock.count} wrong codes ({kind}) from {'several places' if is_everywhere else person.source}:"
        f" locked until {until[:19]}Z" + ("" if is_everywhere else " there"),
        "owner": person.email or person.user_id,
    }
    await tell(connection, person, EventType.MFA_LOCKED, at, data)
