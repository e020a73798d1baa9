"""Reminding of keys that should be replaced: an event each, once, which whoever follows the record is told of."""

from typing import Final

from headgate.agents.reminder_store import keys_due, note_reminded
from headgate.agents.rotation import ROTATE_AFTER
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.kernel.clock import Clock, rfc3339

_OLD: Final = "it is 90 days old"
_ENDS: Final = "it ends soon"


async def remind_rotation(database: Database, clock: Clock) -> int:
    """How many keys were reminded of. Raises UnavailableError."""
    now = clock()
    async with database.across_organizations() as connection:
        due = await keys_due(connection, now)
    reminded = 0
    for org_id, key_ids in due.items():
        async with database.transaction(org_id) as connection:
            keys = await note_reminded(connection, org_id, key_ids, now)
            await append(
                connection,
                org_id,
                [
                    Event(
                        EventType.KEY_ROTATION_DUE,
                        now,
                        SYSTEM,
                        {
                            "key_id": key.key_id,
                            "kind": key.kind,
                            "reason": _OLD if now - key.created_at >= ROTATE_AFTER else _ENDS,
                            "created_at": rfc3339(key.created_at),
                            "expires_at": None if key.expires_at is None else rfc3339(key.expires_at),
                        },
                        agent_id=key.agent_id,
                    )
                    for key in keys
                ],
            )
        reminded += len(keys)
    return reminded
