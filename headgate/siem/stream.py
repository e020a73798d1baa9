"""The worker's loop body that streams recorded events to security teams' collections, at least once and in order.

A destination's place moves in the transaction that knows that a batch was taken; what is sent and not known to be
taken is sent again, under the same ``metadata.uid``. In place of what stands in the tables and was not sealed so, a
destination is told just that (``altered``). While one takes nothing, others go on; after a minute of that it
is an event of the record, which it gets as well once it takes events again.
"""

import asyncio
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog
from msgspec import Struct

from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.organizations.stored_rules import destination_rules
from headgate.relay.model import RecordedEvent
from headgate.relay.store import end_of_stretch, events_between
from headgate.siem import store
from headgate.siem.altered import altered
from headgate.siem.model import Destination, DestinationKind, vault_name
from headgate.siem.ocsf import json_line, ocsf_event, severity_id_of
from headgate.siem.senders import Senders, StreamError
from headgate.siem.service import load_destinations
from headgate.siem.store import Due, StreamState
from headgate.siem.syslog import framed, message
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_BATCH: Final = 500
_AT_ONCE: Final = 4
ALARM_AFTER: Final = timedelta(minutes=1)


class StreamEvents(Struct, frozen=True):
    """``product_version`` is told in every event."""

    database: Database
    senders: Senders
    vault: Vault
    clock: Clock
    product_version: str
    alarm_after: timedelta = ALARM_AFTER

    async def run(self) -> int:
        """One round; returns how many events were taken. Raises UnavailableError where the database is away."""
        async with self.database.single_statement() as connection:
            due = await store.due(connection)
        taken, failed = 0, 0
        for first in range(0, len(due), _AT_ONCE):
            for result in await asyncio.gather(*(self._guarded(one) for one in due[first : first + _AT_ONCE])):
                taken, failed = taken + (result or 0), failed + (result is None)
        if failed and failed == len(due):
            raise UnavailableError("no destination could be reached: event_stream_not_run")
        return taken

    async def _guarded(self, one: Due) -> int | None:
        """None: it could not even be tried, which keeps no other waiting."""
        try:
            return await self._batch(one)
        except HeadgateError as error:
            _log.error("event_stream_not_run", org_id=one.org_id, destination=one.destination, error=error.message)
        except Exception:  # noqa: BLE001 - a bug that one organization's data meets must not silence the others
            _log.exception("event_stream_not_run", org_id=one.org_id, destination=one.destination)
        return None

    async def _batch(self, due: Due) -> int:
        """The transaction keeps other workers away from this destination meanwhile."""
        async with self.database.transaction(due.org_id) as connection:
            state = await store.lock_stream(connection, due.org_id, due.destination)
            destination = (await load_destinations(connection, due.org_id)).get(due.destination)
            if state is None or destination is None or not destination.enabled:
                return 0
            end = await end_of_stretch(connection, due.org_id, state.seq, _BATCH)
            if end is None:
                return 0
            found = await events_between(connection, due.org_id, state.seq, end)
            told = [*found.events, *(altered(fault, self.clock()) for fault in found.faults)]
            events = sorted(told, key=lambda event: event.seq)
            opened = await self.vault.open(connection, due.org_id, [vault_name(destination.name)])
            rules = await destination_rules(connection, due.org_id)
            try:
                await self.senders.send(
                    due.org_id,
                    destination,
                    self._lines(due.org_id, destination, events),
                    opened.get(vault_name(destination.name)),
                    rules,
                )
            except StreamError as error:
                await store.save_failure(connection, due.org_id, due.destination, str(error))
                await self._alarm(connection, due.org_id, state, str(error))
                return 0
            await store.save_taken(connection, due.org_id, due.destination, end)
            if state.alarmed_at is not None:
                await self._tell(connection, due.org_id, EventType.EVENT_STREAM_RECOVERED, state, None)
        return len(events)

    def _lines(self, org_id: str, destination: Destination, events: Sequence[RecordedEvent]) -> bytes:
        lines: list[bytes] = []
        for event in events:
            told = ocsf_event(event, org_id, self.product_version)
            text = json_line(told)
            if destination.kind in (DestinationKind.SYSLOG_TCP, DestinationKind.SYSLOG_TLS):
                one = message(
                    host=socket.gethostname(),
                    event_type=event.event_type,
                    at=event.created_at,
                    severity_id=severity_id_of(told),
                    text=text,
                )
                lines.append(framed(one))
            else:
                lines.append(text.encode("ascii") + b"\n")
        return b"".join(lines)

    async def _alarm(self, connection: Connection, org_id: str, state: StreamState, failure: str) -> None:
        now = self.clock()
        if state.alarmed_at is not None or state.failing_since is None or now - state.failing_since < self.alarm_after:
            return
        await store.mark_alarmed(connection, org_id, state.destination, now)
        await self._tell(connection, org_id, EventType.EVENT_STREAM_FAILED, state, failure)
        _log.error("event_stream_failing", org_id=org_id, destination=state.destination, failure=failure)

    async def _tell(
        self, connection: Connection, org_id: str, event_type: EventType, state: StreamState, failure: str | None
    ) -> None:
        data: JsonObject = {"name": state.destination, "after_seq": state.seq}
        if failure is not None:
            data["failure"] = failure[:500]
        await append(connection, org_id, [Event(event_type, self.clock(), SYSTEM, data)])
