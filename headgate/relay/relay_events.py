"""The loop that tells: seals what was recorded, and moves each consumer's cursor over it.

No request waits for it. A crash before its transaction commits repeats it, a crash after leaves jobs; and what one
organization cannot be told keeps no other waiting. What stands in the tables and was not sealed so is told to nobody:
an error in the log, and verifying says more.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import structlog
from msgspec import Struct

from headgate.db.database import Connection, Database
from headgate.journal.apply import apply_if_free
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.relay import store
from headgate.relay.model import Consumer, RecordedEvent
from headgate.relay.store import Due

_log = structlog.get_logger(__name__)

_STRETCH: Final = 1_000

type Take = Callable[[Connection, str, Sequence[RecordedEvent]], Awaitable[int]]


class Follower(Struct, frozen=True):
    """Which recorded events a consumer wants, and what it makes of them."""

    types: frozenset[str]
    take: Take


async def relay_due(database: Database, followers: Mapping[Consumer, Follower]) -> int:
    """One round; returns how many events were looked at. Raises UnavailableError where none could be."""
    async with database.single_statement() as connection:
        due = await store.due(connection, followers)
    looked_at, failed = 0, 0
    for one in due:
        try:
            looked_at += await _relay(database, one, followers[one.consumer])
        except HeadgateError as error:
            failed += 1
            _log.error("relay_failed", org_id=one.org_id, consumer=one.consumer, error=error.message)
        except Exception:  # noqa: BLE001 - a bug that one organization's data meets must not silence the others
            failed += 1
            _log.exception("relay_failed", org_id=one.org_id, consumer=one.consumer)
    if failed and failed == len(due):
        raise UnavailableError("no event could be relayed: relay_failed")
    return looked_at


async def _relay(database: Database, due: Due, follower: Follower) -> int:
    await apply_if_free(database, due.org_id)
    async with database.transaction(due.org_id) as connection:
        seq = await store.lock_cursor(connection, due.org_id, due.consumer)
        if seq is None:
            return 0
        end = await store.end_of_stretch(connection, due.org_id, seq, _STRETCH)
        if end is None:
            return 0
        found = await store.events_between(connection, due.org_id, seq, end, follower.types)
        for fault in found.faults:
            _log.error(
                "event_not_as_sealed", org_id=due.org_id, consumer=due.consumer, seq=fault.seq,
                event_id=fault.event_id, reason=fault.reason.value, message=fault.message,
            )  # fmt: skip
        if found.events:
            await follower.take(connection, due.org_id, found.events)
        await store.move_cursor(connection, due.org_id, due.consumer, end)
    return end - seq
