"""What the enforcement points may do with approvals: SQL functions of ``schema/functions/approvals``, by name.

Each is one statement that locks, checks and acts. Pure functions decide before; each statement reports when the state
that they decided on has changed.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from headgate.actions.recording_store import RecordingOutcome
from headgate.approvals.attention import Attention
from headgate.audit.model import SYSTEM, EventType, payload_text
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.arrays import columns_of
from headgate.db.database import Connection
from headgate.db.prepared_call import PreparedCall, batch_call
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import RateLimitedError
from headgate.kernel.secrets import Secret

_ROOM_RETRY_AFTER_SECONDS: Final = 30

MOST_OPEN_APPROVALS: Final = 100
"""The most open approvals of one agent that a person can review. A compromised agent (prompt injection) could request
a thousand a minute, to hide one dangerous request or to have it approved without attention."""


class HoldRow(NamedTuple):
    """An action that waits for a human, in the order of ``hold_action``'s first parameters."""

    org_id: str
    generation: int
    action_id: str
    agent_id: str
    key_id: str | None
    source: str
    tool: str
    operation: str
    digest: bytes
    request: str
    decision: str
    risk_level: str
    parent_action_id: str | None
    created_at: datetime
    idempotency_key: str | None
    request_digest: bytes | None
    submitted: str
    decided: str
    requested: str
    approval_id: str
    requirements: str
    required_approvals: int
    reason: str
    policy_id: str | None
    expires_at: datetime
    previous_approval_id: str | None
    superseded: str | None


class UseRow(NamedTuple):
    """The one use of an approval, in the order of ``use_approval``'s parameters."""

    org_id: str
    generation: int
    approval_id: str
    agent_id: str
    digest: bytes
    execution_id: str
    instance_id: str
    at: datetime
    redecided: str
    started: str


class HoldTerms(NamedTuple):
    """The remaining terms of a new approval, in the order of ``hold_action``'s last parameters. ``most``: how many
    open approvals the agent may have, None: unlimited; ``names``: the assignees, as JSON; ``held_until``: how long the
    call waits, None: it does not."""

    most: int | None
    names: str
    escalate_at: datetime | None
    remind_after_seconds: int | None
    remind_at: datetime | None
    held_until: datetime | None


def hold_terms(most_open: int | None, attention: Attention | None, held_until: datetime | None) -> HoldTerms:
    if attention is None:
        return HoldTerms(most_open, "[]", None, None, None, held_until)
    names = canonical_bytes([*attention.names]).decode()
    escalate_at, remind_at = attention.escalate_at, attention.remind_at
    return HoldTerms(most_open, names, escalate_at, attention.remind_after_seconds, remind_at, held_until)


HOLD_COLUMNS: Final = (*columns_of(HoldRow), *columns_of(HoldTerms))
USE_COLUMNS: Final = columns_of(UseRow)


def hold_actions_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes rows of a HoldRow and HoldTerms; ``decode_outcomes`` reads its answer."""
    return batch_call(dsn, "hold_actions", HOLD_COLUMNS, deadline_seconds=deadline_seconds)


def use_approvals_call(dsn: Secret, *, deadline_seconds: float) -> PreparedCall:
    """Takes UseRows; ``decode_outcomes`` reads its answer."""
    return batch_call(dsn, "use_approvals", USE_COLUMNS, deadline_seconds=deadline_seconds)


def events_of_hold(row: HoldRow, ended_action_id: str) -> list[WrittenEvent]:
    """What ``hold_action`` appends if it holds. ``ended_action_id``: whose approval ended with it; empty: none."""
    told = [
        (EventType.ACTION_SUBMITTED, row.action_id, row.submitted),
        (EventType.DECISION_MADE, row.action_id, row.decided),
        (EventType.APPROVAL_REQUESTED, row.action_id, row.requested),
    ]
    if ended_action_id and row.superseded is not None:
        told.append((EventType.APPROVAL_SUPERSEDED, ended_action_id, row.superseded))
    elif ended_action_id:
        expired = payload_text(SYSTEM, {"approval_id": row.previous_approval_id})
        told.append((EventType.APPROVAL_EXPIRED, ended_action_id, expired))
    return [
        WrittenEvent(event_type.value, action_id, row.agent_id, row.created_at, payload)
        for event_type, action_id, payload in told
    ]


def events_of_use(row: UseRow, action_id: str) -> list[WrittenEvent]:
    """What ``use_approval`` appends if the approval is used."""
    told = ((EventType.DECISION_MADE, row.redecided), (EventType.EXECUTION_STARTED, row.started))
    return [WrittenEvent(event_type.value, action_id, row.agent_id, row.at, payload) for event_type, payload in told]


def too_many_open(most_open: int | None) -> RateLimitedError:
    return RateLimitedError(
        f"{most_open} approvals of this agent are pending: retry when some of them are decided",
        details={"open_approvals": most_open},
        retry_after_seconds=_ROOM_RETRY_AFTER_SECONDS,
    )


async def hold_action(
    connection: Connection,
    row: HoldRow,
    *,
    most_open: int | None,
    attention: Attention | None = None,
    held_until: datetime | None = None,
) -> RecordingOutcome:
    """Records the action with its approval. A superseded open approval of the same digest ends; any other one stays.

    Raises RateLimitedError if the agent would have more than ``most_open`` open approvals (None: unlimited).
    """
    terms = hold_terms(most_open, attention, held_until)
    said, _, ended_action_id = (await _answer(connection, "hold_action", (*row, *terms))).partition(" ")
    answer = RecordingOutcome.of(said)
    if answer is RecordingOutcome.FULL:
        raise too_many_open(most_open)
    if answer is RecordingOutcome.RECORDED:
        note_events(connection, row.org_id, events_of_hold(row, ended_action_id))
    return answer


async def record_retry(
    connection: Connection,
    org_id: str,
    approval_id: str,
    agent_id: str,
    at: datetime,
    payload: str,
    held_until: datetime | None,
    *,
    action_id: str,
) -> None:
    """Records a repeat of the same call, which waits until ``held_until``: one event, no new action."""
    values = [org_id, approval_id, agent_id, at, payload, held_until]
    await connection.execute("SELECT record_retry(%s, %s, %s, %s, %s, %s)", values)
    retried = WrittenEvent(EventType.ACTION_RETRIED.value, action_id, agent_id, at, payload)
    note_events(connection, org_id, [retried])


async def held_decision(connection: Connection, org_id: str, approval_id: str, agent_id: str) -> str:
    """Returns the decision stored when the approval was opened, as JSON; ``{}`` if there is none."""
    cursor = await connection.execute("SELECT held_decision(%s, %s, %s) AS decision", [org_id, approval_id, agent_id])
    row = await cursor.fetchone()
    return "{}" if row is None or row["decision"] is None else str(row["decision"])


async def decided_within(connection: Connection, back: timedelta) -> list[str]:
    """Lists approvals of all organizations that were decided within the last ``back``."""
    cursor = await connection.execute("SELECT approval_id FROM approvals_decided_within(%s)", [back])
    return [str(row["approval_id"]) for row in await cursor.fetchall()]


async def _answer(connection: Connection, function: str, row: tuple[object, ...]) -> str:
    parameters = ", ".join(["%s"] * len(row))
    cursor = await connection.execute(f"SELECT {function}({parameters}) AS outcome", row)
    answer = await cursor.fetchone()
    return "" if answer is None else str(answer["outcome"])
