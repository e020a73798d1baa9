"""Records actions before they are forwarded, and outcomes afterwards, in batches."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from psycopg import pq

from headgate.actions.entry_lane import EntryLane
from headgate.actions.recorded_entry import ActionRow, OutcomeRow
from headgate.actions.recording_store import (
    ActionBatches,
    OutcomeBatches,
    RecordingOutcome,
    decode_remarks,
    record_actions_call,
    record_outcomes_call,
)
from headgate.approvals.gate_store import (
    HOLD_COLUMNS,
    USE_COLUMNS,
    HoldRow,
    HoldTerms,
    UseRow,
    events_of_hold,
    events_of_use,
    hold_actions_call,
    use_approvals_call,
)
from headgate.audit.written_events import WrittenEvent, WrittenEvents
from headgate.db.arrays import Column, encode_rows
from headgate.db.group_commit import BatchObserver, GroupCommit
from headgate.db.prepared_call import PreparedCall
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

_RECORD_DEADLINE_SECONDS: Final = 1.0  # semantics.md, "Recording"
_OUTCOME_DEADLINE_SECONDS: Final = 5.0
_HOLD_DEADLINE_SECONDS: Final = 5.0
_HELD_ROWS_MAX: Final = 128
"""Of one transaction: each row takes the locks of its agent and its digest until the commit."""
LARGE_BYTES: Final = 128 << 10
_LARGE_DEADLINE_SECONDS: Final = 5.0
_OUTCOME_WINDOW_SECONDS: Final = 0.005


class Recorder:
    """The writers of a process, each on a connection of its own: an outcome never delays the next record.

    Nor do large requests: ten bodies of 10 MiB in one batch missed its deadline, and with them every agent's
    calls were refused. They are written one at a time, and in time of their own; the first makes their connection.
    """

    def __init__(self, dsn: Secret, codes: EntryCodes, *, observe: BatchObserver | None = None) -> None:
        self.lanes = (EntryLane(codes), EntryLane(codes), EntryLane(codes))
        """One for each of: actions, large actions, outcomes."""
        self.written = WrittenEvents()
        """What is written without a lane."""
        actions, large = ActionBatches(self.lanes[0]), ActionBatches(self.lanes[1])
        outcomes = OutcomeBatches(self.lanes[2], self.written)
        self._record_call = record_actions_call(dsn, deadline_seconds=_RECORD_DEADLINE_SECONDS)
        self._large_call = record_actions_call(dsn, deadline_seconds=_LARGE_DEADLINE_SECONDS)
        self._outcome_call = record_outcomes_call(dsn, deadline_seconds=_OUTCOME_DEADLINE_SECONDS)
        self._actions: GroupCommit[ActionRow, RecordingOutcome] = GroupCommit(
            self._record_call,
            encode=actions.encode,
            decode=actions.decode,
            observe=observe,
        )
        self._large_actions: GroupCommit[ActionRow, RecordingOutcome] = GroupCommit(
            self._large_call,
            encode=large.encode,
            decode=large.decode,
            max_rows=1,
            observe=observe,
        )
        self._outcomes: GroupCommit[OutcomeRow, None] = GroupCommit(
            self._outcome_call,
            encode=outcomes.encode,
            decode=outcomes.decode,
            window_seconds=_OUTCOME_WINDOW_SECONDS,
        )

    @property
    def _calls(self) -> tuple[PreparedCall, ...]:
        return self._record_call, self._large_call, self._outcome_call

    async def open(self) -> None:
        """Connect what every call needs; a database that is not there yet is connected to when it comes (``ready``
        tells)."""
        for call in (self._record_call, self._outcome_call):
            try:
                await call.open()
            except UnavailableError:
                continue  # connecting goes on in the background; until then every record is refused

    async def close(self) -> None:
        """Write what is queued, then disconnect."""
        await self._actions.drain()
        await self._large_actions.drain()
        await self._outcomes.drain()
        for call in self._calls:
            await call.close()

    @property
    def ready(self) -> bool:
        is_open = self._record_call.connected and self._outcome_call.connected
        return is_open and all(call.connected for call in self._calls if call.opened)

    def submit_action(self, row: ActionRow) -> asyncio.Future[RecordingOutcome]:
        """Durable when the future says RECORDED. UnavailableError: whether it was written is unknown."""
        actions = self._actions if len(row.request) <= LARGE_BYTES else self._large_actions
        return actions.submit(row)

    def submit_outcome(self, row: OutcomeRow) -> asyncio.Future[None]:
        """Durable when the future is done. UnavailableError: tell it again, which is harmless."""
        return self._outcomes.submit(row)


class EventfulRow(NamedTuple):
    """The parameters of one row, and the events that its statement appends if the answer is RECORDED, by what stands
    behind that answer."""

    parameters: tuple[object, ...]
    org_id: str
    events: Callable[[str], Sequence[WrittenEvent]]


class EventfulBatches:
    """Batches for ``hold_actions`` and ``use_approvals``, whose events have no lane."""

    def __init__(self, columns: Sequence[Column], written: WrittenEvents) -> None:
        self._columns = columns
        self._written = written
        self._sent: Sequence[EventfulRow] = ()

    def encode(self, rows: Sequence[EventfulRow]) -> list[bytes]:
        """The function's parameters."""
        self._sent = rows
        return encode_rows(self._columns, [row.parameters for row in rows])

    def decode(self, result: pq.abc.PGresult, _: int) -> list[RecordingOutcome]:
        """What became of each row, in their order. Raises KeyError for an answer that this version does not know."""
        answers = decode_remarks(result)
        for row, (outcome, remark) in zip(self._sent, answers, strict=True):
            if outcome is RecordingOutcome.RECORDED:
                self._written.add(row.org_id, row.events(remark))
        return [outcome for outcome, _ in answers]


class GateRecorder(Recorder):
    """Of a process that holds calls, too. The first of them make their connections."""

    def __init__(self, dsn: Secret, codes: EntryCodes, *, observe: BatchObserver | None = None) -> None:
        super().__init__(dsn, codes, observe=observe)
        self._hold_call = hold_actions_call(dsn, deadline_seconds=_HOLD_DEADLINE_SECONDS)
        self._use_call = use_approvals_call(dsn, deadline_seconds=_HOLD_DEADLINE_SECONDS)
        holds, uses = EventfulBatches(HOLD_COLUMNS, self.written), EventfulBatches(USE_COLUMNS, self.written)
        self._holds: GroupCommit[EventfulRow, RecordingOutcome] = GroupCommit(
            self._hold_call, encode=holds.encode, decode=holds.decode, max_rows=_HELD_ROWS_MAX
        )
        self._uses: GroupCommit[EventfulRow, RecordingOutcome] = GroupCommit(
            self._use_call, encode=uses.encode, decode=uses.decode, max_rows=_HELD_ROWS_MAX
        )

    @property
    def _calls(self) -> tuple[PreparedCall, ...]:
        return *super()._calls, self._hold_call, self._use_call

    async def close(self) -> None:
        """Write what is queued, then disconnect."""
        await self._holds.drain()
        await self._uses.drain()
        await super().close()

    def submit_hold(self, row: HoldRow, terms: HoldTerms) -> asyncio.Future[RecordingOutcome]:
        """The action with its approval; as ``submit_action``."""
        return self._holds.submit(EventfulRow((*row, *terms), row.org_id, partial(events_of_hold, row)))

    def submit_use(self, row: UseRow, *, action_id: str) -> asyncio.Future[RecordingOutcome]:
        """The one use of an approval, by its action; as ``submit_action``."""
        return self._uses.submit(EventfulRow(row, row.org_id, lambda _: events_of_use(row, action_id)))
