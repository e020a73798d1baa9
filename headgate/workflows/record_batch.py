"""The record in the path of every request: actions before they are forwarded, outcomes after.

Rows are tuples in the order of the SQL functions' parameters (``0005_recording.sql``), so that a batch is
transposed into parallel arrays without touching a field by name.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from psycopg import pq

from headgate.db import arrays
from headgate.db.prepared_call import PreparedCall
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.workflows.group_commit import BatchObserver, GroupCommit

_RECORD_DEADLINE_SECONDS: Final = 1.0  # semantics.md, "Recording"
_OUTCOME_DEADLINE_SECONDS: Final = 5.0
_LARGE_BYTES: Final = 128 << 10
_LARGE_DEADLINE_SECONDS: Final = 5.0
_OUTCOME_WINDOW_SECONDS: Final = 0.005


class RecordOutcome(StrEnum):
    """What became of one row of ``record_actions``."""

    RECORDED = "recorded"
    STALE = "stale"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"


class ActionRow(NamedTuple):
    """One decided action. ``request`` and ``decision`` are canonical JSON; the last three are events' payloads."""

    org_id: str
    generation: int
    action_id: str
    agent_id: str
    key_id: str | None
    source: str
    tool: str
    operation: str
    status: str
    digest: bytes
    request: bytes
    decision: bytes
    risk_level: str
    parent_action_id: str | None
    created_at: datetime
    execution_id: str | None
    instance_id: str | None
    idempotency_key: str | None
    request_digest: bytes | None
    submitted: str
    decided: str
    started: str | None


class OutcomeRow(NamedTuple):
    """How one execution ended. ``give_back``: the approval whose use is given back, as nothing was sent."""

    org_id: str
    execution_id: str
    action_id: str
    agent_id: str
    succeeded: bool
    completed_at: datetime
    error: str | None
    result: bytes | None
    payload: str
    give_back: str | None


_TEXT: Final = (arrays.TEXT_ARRAY, arrays.text_array)
_UTF8: Final = (arrays.TEXT_ARRAY, arrays.utf8_array)
_BYTEA: Final = (arrays.BYTEA_ARRAY, arrays.bytea_array)
_INT8: Final = (arrays.INT8_ARRAY, arrays.int8_array)
_BOOL: Final = (arrays.BOOL_ARRAY, arrays.bool_array)
_TIME: Final = (arrays.TIMESTAMPTZ_ARRAY, arrays.timestamptz_array)

# One line for each field of the rows above, in their order.
_ACTION_COLUMNS: Final = (
    *(_TEXT, _INT8, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT),  # org_id … status
    *(_BYTEA, _UTF8, _UTF8, _TEXT, _TEXT, _TIME),  # digest … created_at
    *(_TEXT, _TEXT, _TEXT, _BYTEA, _TEXT, _TEXT, _TEXT),  # execution_id … started
)
_OUTCOME_COLUMNS: Final = (_TEXT, _TEXT, _TEXT, _TEXT, _BOOL, _TIME, _TEXT, _UTF8, _TEXT, _TEXT)


def _encode(columns: Sequence[tuple[int, Callable[..., bytes]]], rows: Sequence[tuple[object, ...]]) -> list[bytes]:
    return [encode(values) for (_, encode), values in zip(columns, zip(*rows, strict=True), strict=True)]


def _call(
    dsn: Secret, function: str, columns: Sequence[tuple[int, Callable[..., bytes]]], deadline: float
) -> PreparedCall:
    parameters = ", ".join(f"${position}" for position in range(1, len(columns) + 1))
    return PreparedCall(
        dsn,
        f"SELECT {function}({parameters})",
        [array_type for array_type, _ in columns],
        deadline_seconds=deadline,
    )


_OUTCOMES: Final = {outcome.value.encode(): outcome for outcome in RecordOutcome}


def _decode_recorded(result: pq.abc.PGresult, _: int) -> list[RecordOutcome]:
    return [_OUTCOMES[outcome] for outcome in (result.get_value(0, 0) or b"").split(b",")]


class Recorder:
    """The writers of a process, each on a connection of its own: an outcome never delays the next record.

    Nor do large requests: ten bodies of 10 MiB in one batch missed its deadline, and with them every agent's
    calls were refused. They are written one at a time, and in time of their own.
    """

    def __init__(self, dsn: Secret, *, observe: BatchObserver | None = None) -> None:
        self._record_call = _call(dsn, "record_actions", _ACTION_COLUMNS, _RECORD_DEADLINE_SECONDS)
        self._large_call = _call(dsn, "record_actions", _ACTION_COLUMNS, _LARGE_DEADLINE_SECONDS)
        self._outcome_call = _call(dsn, "record_outcomes", _OUTCOME_COLUMNS, _OUTCOME_DEADLINE_SECONDS)
        self._actions: GroupCommit[ActionRow, RecordOutcome] = GroupCommit(
            self._record_call,
            encode=lambda rows: _encode(_ACTION_COLUMNS, rows),
            decode=_decode_recorded,
            observe=observe,
        )
        self._large_actions: GroupCommit[ActionRow, RecordOutcome] = GroupCommit(
            self._large_call,
            encode=lambda rows: _encode(_ACTION_COLUMNS, rows),
            decode=_decode_recorded,
            max_rows=1,
            observe=observe,
        )
        self._outcomes: GroupCommit[OutcomeRow, None] = GroupCommit(
            self._outcome_call,
            encode=lambda rows: _encode(_OUTCOME_COLUMNS, rows),
            decode=lambda _, rows: [None] * rows,
            window_seconds=_OUTCOME_WINDOW_SECONDS,
        )

    @property
    def _calls(self) -> tuple[PreparedCall, ...]:
        return self._record_call, self._large_call, self._outcome_call

    async def open(self) -> None:
        """Connect all; a database that is not there yet is connected to when it comes (``ready`` tells)."""
        for call in self._calls:
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
        return all(call.connected for call in self._calls)

    def submit_action(self, row: ActionRow) -> asyncio.Future[RecordOutcome]:
        """Durable when the future says RECORDED. UnavailableError: whether it was written is unknown."""
        actions = self._actions if len(row.request) <= _LARGE_BYTES else self._large_actions
        return actions.submit(row)

    def submit_outcome(self, row: OutcomeRow) -> asyncio.Future[None]:
        """Durable when the future is done. UnavailableError: tell it again, which is harmless."""
        return self._outcomes.submit(row)
