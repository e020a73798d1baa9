"""What is written in the path of every request: the calls of ``record_actions`` and ``record_outcomes``
(``schema/functions/actions/record_actions.sql``), and the rows that they take.

A row's fields stand in the order of the function's parameters, so that a batch is transposed into parallel arrays
without touching a field by name; a field's type says which array it becomes. A test compares both with the database.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from psycopg import pq

from headgate.db.arrays import Utf8, columns_of, encode_rows
from headgate.db.database import Connection
from headgate.db.prepared_call import PreparedCall, batch_call
from headgate.kernel.secrets import Secret


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
    request: Utf8
    decision: Utf8
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


class RecordingOutcome(StrEnum):
    """The result of recording a decision. Nothing is written unless it is ``RECORDED``.

    ``STALE``: the organization's generation has moved. ``UNKNOWN``: the agent is not active. ``DUPLICATE``: its
    idempotency key was used. ``CHANGED``: there is a newer approval of the digest than the one that was read.
    ``UNUSABLE``: the approval, the grant or the break-glass pass cannot be used. ``ASKED``: an approval of
    exactly this call is open, unused or denied, and goes before a grant. ``FULL``: as many approvals of the agent are
    open as may be.
    """

    RECORDED = "recorded"
    STALE = "stale"
    UNKNOWN = "unknown"
    DUPLICATE = "duplicate"
    CHANGED = "changed"
    UNUSABLE = "unusable"
    ASKED = "asked"
    FULL = "full"

    @classmethod
    def of(cls, answer: str) -> "RecordingOutcome":
        """The answer of a SQL function. Raises ValueError for one that this version does not know."""
        return _RECORDED.get(answer) or cls(answer)


class OutcomeRow(NamedTuple):
    """How one execution ended. ``give_back``: the approval, grant or broken glass whose use is given back, as
    nothing was sent. ``withheld``: the payload of an event that says that the agent did not see the answer."""

    org_id: str
    execution_id: str
    action_id: str
    agent_id: str
    succeeded: bool
    completed_at: datetime
    error: str | None
    result: Utf8 | None
    payload: str
    give_back: str | None
    withheld: str | None = None


_ONE: Final = "SELECT record_actions({}) AS outcome".format(
    ", ".join(
        "%s::bigint[]" if field == "generation" else
        "%s::bytea[]" if field in ("digest", "request_digest") else
        "%s::timestamptz[]" if field == "created_at" else "%s::text[]"
        for field in ActionRow._fields
    )
)  # fmt: skip
_ACTION_COLUMNS: Final = columns_of(ActionRow)
_OUTCOME_COLUMNS: Final = columns_of(OutcomeRow)
_RECORDED: Final = {"held": RecordingOutcome.RECORDED, "used": RecordingOutcome.RECORDED}
_OUTCOMES: Final = {
    answer.encode(): outcome for answer, outcome in ({one.value: one for one in RecordingOutcome} | _RECORDED).items()
}


async def record_action(connection: Connection, row: ActionRow) -> RecordingOutcome:
    """One action in the caller's transaction, together with what else must be true with it."""
    values = row._replace(request=row.request.decode(), decision=row.decision.decode())  # type: ignore[arg-type]
    answer = await (await connection.execute(_ONE, [[value] for value in values])).fetchone()
    return RecordingOutcome(str(answer["outcome"])) if answer is not None else RecordingOutcome.STALE


def record_actions_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes ``encode_actions``; its answer is read by ``decode_outcomes``."""
    return batch_call(dsn, "record_actions", _ACTION_COLUMNS, deadline_seconds=deadline_seconds)


def record_outcomes_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes ``encode_outcomes``; its answer, how many were taken, is of no interest: telling again is harmless."""
    return batch_call(dsn, "record_outcomes", _OUTCOME_COLUMNS, deadline_seconds=deadline_seconds)


def encode_actions(rows: Sequence[ActionRow]) -> list[bytes]:
    """A batch as the function's parameters."""
    return encode_rows(_ACTION_COLUMNS, rows)


def encode_outcomes(rows: Sequence[OutcomeRow]) -> list[bytes]:
    """A batch as the function's parameters."""
    return encode_rows(_OUTCOME_COLUMNS, rows)


def decode_outcomes(result: pq.abc.PGresult) -> list[RecordingOutcome]:
    """What became of each row, in their order. Raises KeyError for an answer that this version does not know."""
    return [_OUTCOMES[outcome] for outcome in (result.get_value(0, 0) or b"").split(b",")]
