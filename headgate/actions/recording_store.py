"""What is written in the path of every request: the calls of ``record_actions`` and ``record_outcomes``.

The fields of a call stand in the order of the function's parameters, so that a batch is transposed into parallel arrays
without touching a field by name; a field's type says which array it becomes. A test compares both with the database.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from psycopg import pq

from headgate.actions.entry_lane import EntryLane
from headgate.actions.recorded_entry import ActionRow, OutcomeRow, action_entry, outcome_entry
from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, WrittenEvents, note_events
from headgate.db.arrays import Utf8, columns_of, encode_rows
from headgate.db.database import Connection
from headgate.db.prepared_call import PreparedCall, batch_call
from headgate.kernel.secrets import Secret


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


class RecordedCall(NamedTuple):
    """The parameters of ``record_actions``."""

    org_id: str
    generation: int
    agent_id: str
    action_id: str
    idempotency_key: str | None
    request_digest: bytes | None
    entry: bytes


class EndedCall(NamedTuple):
    """The parameters of ``record_outcomes``."""

    org_id: str
    execution_id: str
    action_id: str
    agent_id: str
    completed_at: datetime
    error: str | None
    result: Utf8 | None
    payload: str
    give_back: str | None
    entry: bytes


ACTION_COLUMNS: Final = columns_of(RecordedCall)
OUTCOME_COLUMNS: Final = columns_of(EndedCall)
_RECORDED: Final = {"held": RecordingOutcome.RECORDED, "used": RecordingOutcome.RECORDED}
_OUTCOMES: Final = {
    answer.encode(): outcome for answer, outcome in ({one.value: one for one in RecordingOutcome} | _RECORDED).items()
}

_ONE: Final = """
    SELECT record_action(
        p_org => %(org_id)s, p_generation => %(generation)s, p_action => %(action_id)s, p_agent => %(agent_id)s,
        p_key => %(key_id)s, p_source => %(source)s, p_tool => %(tool)s, p_operation => %(operation)s,
        p_status => %(status)s, p_digest => %(digest)s, p_request => %(request)s, p_decision => %(decision)s,
        p_risk => %(risk_level)s, p_parent => %(parent_action_id)s, p_created => %(created_at)s,
        p_idempotency => %(idempotency_key)s, p_request_digest => %(request_digest)s, p_submitted => %(submitted)s,
        p_decided => %(decided)s
    ) AS outcome
"""


async def record_action(connection: Connection, row: ActionRow) -> RecordingOutcome:
    """One action in the caller's transaction, together with what else must be true with it."""
    values = {**row._asdict(), "request": row.request.decode(), "decision": row.decision.decode()}
    answer = await (await connection.execute(_ONE, values)).fetchone()
    outcome = RecordingOutcome(str(answer["outcome"])) if answer is not None else RecordingOutcome.STALE
    if outcome is RecordingOutcome.RECORDED:
        note_events(connection, row.org_id, events_of_action(row)[:2])
    return outcome


def events_of_action(row: ActionRow) -> list[WrittenEvent]:
    """What a transaction appends that writes the action's row itself: submitted, decided and, if it has, started."""
    told = (
        (EventType.ACTION_SUBMITTED, row.submitted),
        (EventType.DECISION_MADE, row.decided),
        (EventType.EXECUTION_STARTED, row.started),
    )
    return [
        WrittenEvent(event_type.value, row.action_id, row.agent_id, row.created_at, payload)
        for event_type, payload in told
        if payload is not None
    ]


def record_actions_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes batches of ``ActionBatches``."""
    return batch_call(dsn, "record_actions", ACTION_COLUMNS, deadline_seconds=deadline_seconds)


def record_outcomes_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes batches of ``OutcomeBatches``. Repeating an outcome is harmless."""
    return batch_call(dsn, "record_outcomes", OUTCOME_COLUMNS, deadline_seconds=deadline_seconds)


class ActionBatches:
    """Batches for ``record_actions``, as one lane of the journal."""

    def __init__(self, lane: EntryLane) -> None:
        self._lane = lane

    def encode(self, rows: Sequence[ActionRow]) -> list[bytes]:
        """The function's parameters. Raises ValueError for a row that could not be applied, UnavailableError."""
        entries = self._lane.sign([(one.org_id, action_entry(one)) for one in rows])
        return encode_rows(
            ACTION_COLUMNS,
            [
                (one.org_id, one.generation, one.agent_id, one.action_id, one.idempotency_key, one.request_digest,
                 entry)
                for one, entry in zip(rows, entries, strict=True)
            ],
        )  # fmt: skip

    def decode(self, result: pq.abc.PGresult, _: int) -> list[RecordingOutcome]:
        """What became of each row, in their order. Raises KeyError for an answer that this version does not know."""
        outcomes = decode_outcomes(result)
        self._lane.committed([outcome is RecordingOutcome.RECORDED for outcome in outcomes])
        return outcomes


class OutcomeBatches:
    """Batches for ``record_outcomes``, as one lane of the journal. A use that is given back ends its execution at once:
    it is not in the lane, and its event is among what is ``written``."""

    def __init__(self, lane: EntryLane, written: WrittenEvents) -> None:
        self._lane = lane
        self._written = written
        self._sent: Sequence[OutcomeRow] = ()

    def encode(self, rows: Sequence[OutcomeRow]) -> list[bytes]:
        """The function's parameters. Raises ValueError for a row that could not be applied, UnavailableError."""
        entries = self._lane.sign([(one.org_id, outcome_entry(one)) for one in rows])
        self._sent = rows
        return encode_rows(
            OUTCOME_COLUMNS,
            [
                (one.org_id, one.execution_id, one.action_id, one.agent_id, one.completed_at, one.error, one.result,
                 one.payload, one.give_back, entry)
                for one, entry in zip(rows, entries, strict=True)
            ],
        )  # fmt: skip

    def decode(self, result: pq.abc.PGresult, rows: int) -> list[None]:
        """All are durable. The answer names the rows that were given back, from 1; the others had ended before."""
        self._lane.committed([one.give_back is None for one in self._sent])
        given_back = result.get_value(0, 0)
        for position in given_back.split(b",") if given_back else ():
            one = self._sent[int(position) - 1]
            failed = EventType.EXECUTION_FAILED.value
            event = WrittenEvent(failed, one.action_id, one.agent_id, one.completed_at, one.payload)
            self._written.add(one.org_id, [event])
        return [None] * rows


async def append_attestations(connection: Connection, signed: Sequence[tuple[str, bytes]]) -> None:
    """Each with its organization, over all organizations."""
    org_ids, entries = zip(*signed, strict=True)
    await connection.execute("SELECT attest_entries(%s::text[], %s::bytea[])", [list(org_ids), list(entries)])


def decode_outcomes(result: pq.abc.PGresult) -> list[RecordingOutcome]:
    """What became of each row, in their order. Raises KeyError for an answer that this version does not know."""
    return [_OUTCOMES[outcome] for outcome in (result.get_value(0, 0) or b"").split(b",")]


def decode_remarks(result: pq.abc.PGresult) -> list[tuple[RecordingOutcome, str]]:
    """As ``decode_outcomes``, each with what stands behind it; empty: nothing."""
    answers = [one.partition(b" ") for one in (result.get_value(0, 0) or b"").split(b",")]
    return [(_OUTCOMES[outcome], remark.decode()) for outcome, _, remark in answers]
