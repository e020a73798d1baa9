"""Attests what this process has written to the journal.

Entries of its lanes are attested within a second if no later entry says so, and each hour; events of its transactions
within a second.
"""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Final

import structlog

from headgate.actions.entry_lane import EntryLane, signed_attestation
from headgate.actions.recorded_entry import events_entry
from headgate.actions.recording_store import append_attestations
from headgate.audit.written_events import WrittenEvents
from headgate.db.database import Database
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import HeadgateError

_log = structlog.get_logger(__name__)

_EVERY_SECONDS: Final = 1.0
_STANDING_SECONDS: Final = 3600.0


class AttestEntries:
    """Of the lanes and transactions of one process. The attestations of events are entries of a lane, too: one that is
    deleted is missed."""

    def __init__(
        self, database: Database, lanes: Sequence[EntryLane], codes: EntryCodes, written: WrittenEvents | None = None
    ) -> None:
        """``written`` gets what ``database`` commits, too."""
        self._database = database
        self._events = EntryLane(codes)
        self._lanes = (*lanes, self._events)
        self._codes = codes
        self._written = WrittenEvents() if written is None else written
        self._standing_due = monotonic() + _STANDING_SECONDS
        self._mark: bytes | None = None
        database.commit_listeners.append(self._written.committed)

    async def keep_attesting(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(_EVERY_SECONDS)
            await self.attest()

    async def close(self) -> None:
        """Attests what was written last, and then that attestation."""
        await self.attest()
        await self.attest()

    async def attest(self) -> None:
        """What cannot be written now is written the next time."""
        try:
            signer = self._codes.signer()
            # After a rotation of the master keys, too: then no count is left under the key that is retired.
            is_due = monotonic() >= self._standing_due or signer.mark != self._mark
            due = [
                (lane, one) for lane in self._lanes for one in lane.unattested() + (lane.standing() if is_due else [])
            ]
            events = self._written.due()
            if due or events:
                signed = [(one.org_id, signed_attestation(signer, one)) for _, one in due]
                if events:
                    org_ids = [org_id for org_id, _ in events]
                    entries = self._events.sign([(org_id, events_entry(some)) for org_id, some in events])
                    signed += zip(org_ids, entries, strict=True)
                async with self._database.across_organizations() as connection:
                    await append_attestations(connection, signed)
        except HeadgateError as error:
            _log.warning("entries_not_attested", error=error.message, cause=str(error.__cause__ or error))
            return
        for lane, one in due:
            lane.attested(one)
        if events:
            self._events.committed([True] * len(events))
            self._written.attested(sum(len(some) for _, some in events))
        if is_due:
            self._standing_due, self._mark = monotonic() + _STANDING_SECONDS, signer.mark
