"""The worker's job: every checkpoint to every target, in order, for as long as it takes.

What a target has not taken is tried again, ever more slowly, up to every five minutes; nothing is skipped for those
that keep checkpoints, while witnesses and time-stamp authorities get the newest, which covers all before it. A target
that fails for longer than ``alarm_after`` is an event of the record and an error in the log.
"""

from datetime import timedelta
from typing import Final

import httpx
import structlog
from msgspec import Struct

from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.evidence.attestation_store import Attestation, save_attestation
from headgate.evidence.export_store import (
    ExportState,
    exports_due,
    load_exports,
    lock_export,
    mark_alarmed,
    save_failure,
    save_success,
)
from headgate.evidence.export_targets import Target, TimestampTarget, WitnessTarget
from headgate.evidence.prove import prove_consistency
from headgate.evidence.senders import ExportError, Outgoing, WitnessBehindError, ask_witness, outgoing, send
from headgate.evidence.tree_store import StoredCheckpoint, latest_checkpoint, list_checkpoints
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock

_log = structlog.get_logger(__name__)

_BATCH: Final = 20
ALARM_AFTER: Final = timedelta(minutes=1)


class Exporter(Struct, frozen=True):
    """Exports to one target; a worker has one for each."""

    database: Database
    client: httpx.AsyncClient
    target: Target
    clock: Clock
    alarm_after: timedelta = ALARM_AFTER

    async def run(self) -> int:
        """What is due now; returns how many checkpoints were taken. Raises UnavailableError."""
        async with self.database.across_organizations() as connection:
            due = await exports_due(connection, self.target.name)
        taken = 0
        for org_id in due:
            taken += await self.export(org_id)
        return taken

    async def export(self, org_id: str) -> int:
        """Up to a batch of one organization's. The transaction keeps others away from this target meanwhile."""
        taken = 0
        async with self.database.transaction(org_id) as connection:
            if not await lock_export(connection, org_id, self.target.name):
                return 0
            states = {one.target: one for one in await load_exports(connection, org_id)}
            state = states.get(self.target.name)
            try:
                for stored in await self._waiting(connection, org_id, 0 if state is None else state.size):
                    await self._send(connection, outgoing(org_id, stored.note), state)
                    await save_success(connection, org_id, self.target.name, stored.size, self.target.every_seconds)
                    taken += 1
            except ExportError as error:
                await save_failure(connection, org_id, self.target.name, str(error))
                await self._alarm(connection, org_id, str(error))
                return taken
            if state is not None and state.alarmed_at is not None:
                await self._tell(connection, org_id, EventType.CHECKPOINT_EXPORT_RECOVERED, None)
        return taken

    async def _waiting(self, connection: Connection, org_id: str, after: int) -> list[StoredCheckpoint]:
        if isinstance(self.target, TimestampTarget | WitnessTarget):
            newest = await latest_checkpoint(connection, org_id)
            return [newest] if newest is not None and newest.size > after else []
        return await list_checkpoints(connection, org_id, after=after, limit=_BATCH)

    async def _send(self, connection: Connection, item: Outgoing, state: ExportState | None) -> None:
        if isinstance(self.target, WitnessTarget):
            said: Attestation | None = await self._ask_witness(
                connection, self.target, item, 0 if state is None else state.size
            )
        else:
            said = await send(self.client, self.target, item)
        if said is not None:
            await save_attestation(connection, item.org_id, item.checkpoint.size, said)

    async def _ask_witness(
        self, connection: Connection, target: WitnessTarget, item: Outgoing, old_size: int
    ) -> Attestation:
        size = item.checkpoint.size
        try:
            path = await prove_consistency(connection, item.org_id, old_size, size)
            return await ask_witness(self.client, target, item, old_size, path)
        except WitnessBehindError as behind:
            path = await prove_consistency(connection, item.org_id, behind.size, size)
            return await ask_witness(self.client, target, item, behind.size, path)

    async def _alarm(self, connection: Connection, org_id: str, failure: str) -> None:
        state = next(one for one in await load_exports(connection, org_id) if one.target == self.target.name)
        if state.alarmed_at is not None or state.failing_since is None:
            return
        if self.clock() - state.failing_since < self.alarm_after:
            return
        await mark_alarmed(connection, org_id, self.target.name)
        await self._tell(connection, org_id, EventType.CHECKPOINT_EXPORT_FAILED, failure)
        _log.error("checkpoint_export_failing", org_id=org_id, target=self.target.name, failure=failure)

    async def _tell(self, connection: Connection, org_id: str, event_type: EventType, failure: str | None) -> None:
        data: JsonObject = {"target": self.target.name}
        if failure is not None:
            data["failure"] = failure[:500]
        event = Event(event_type, self.clock(), SYSTEM, data)
        await append(connection, org_id, [event])
