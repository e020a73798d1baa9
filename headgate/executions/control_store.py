"""SQL of what people and agents may do with executions: functions of ``schema/functions/executions``."""

from datetime import datetime

from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.database import Connection


async def oldest_queued(connection: Connection, org_id: str) -> str | None:
    cursor = await connection.execute(
        "SELECT execution_id FROM execution_calls WHERE org_id = %s AND state = 'queued' ORDER BY due_at LIMIT 1",
        [org_id],
    )
    row = await cursor.fetchone()
    return None if row is None else row["execution_id"]


async def process(connection: Connection, org_id: str, execution_id: str | None, at: datetime) -> int:
    """One, or with None all, are due now; how many that were."""
    cursor = await connection.execute("SELECT process_executions(%s, %s, %s) AS n", [org_id, execution_id, at])
    row = await cursor.fetchone()
    return 0 if row is None else int(row["n"])


async def retry(
    connection: Connection,
    org_id: str,
    execution_id: str,
    at: datetime,
    payload: str,
    *,
    reset: bool,
    action_id: str,
    agent_id: str,
) -> str:
    """queued, gone or forgotten. The last two are the execution's."""
    cursor = await connection.execute(
        "SELECT retry_execution(%s, %s, %s, %s, %s) AS outcome", [org_id, execution_id, at, reset, payload]
    )
    row = await cursor.fetchone()
    outcome = "gone" if row is None else str(row["outcome"])
    if outcome == "queued":
        retried = WrittenEvent(EventType.EXECUTION_RETRIED.value, action_id, agent_id, at, payload)
        note_events(connection, org_id, [retried])
    return outcome


async def take_action(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    execution_id: str,
    at: datetime,
    *,
    generation: int,
    digest: bytes,
    redecided: str,
    started: str,
) -> str:
    """taken, stale, ours or unusable. Durable when the transaction commits."""
    cursor = await connection.execute(
        "SELECT take_action(%s, %s, %s, %s, %s, %s, %s, %s, %s) AS outcome",
        [org_id, generation, action_id, agent_id, digest, execution_id, at, redecided, started],
    )
    row = await cursor.fetchone()
    outcome = "unusable" if row is None else str(row["outcome"])
    if outcome == "taken":
        told = ((EventType.DECISION_MADE, redecided), (EventType.EXECUTION_STARTED, started))
        events = [WrittenEvent(event_type.value, action_id, agent_id, at, said) for event_type, said in told]
        note_events(connection, org_id, events)
    return outcome


async def report_outcome(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    execution_id: str,
    at: datetime,
    *,
    succeeded: bool,
    error: str | None,
    result: str | None,
    started: str,
    payload: str,
) -> str:
    """reported, ours or wrong."""
    cursor = await connection.execute(
        "SELECT report_outcome(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) AS outcome",
        [org_id, action_id, agent_id, execution_id, at, succeeded, error, result, started, payload],
    )
    row = await cursor.fetchone()
    outcome = "wrong" if row is None else str(row["outcome"])
    if outcome not in ("reported", "ended"):
        return outcome
    told = [(EventType.EXECUTION_COMPLETED if succeeded else EventType.EXECUTION_FAILED, payload)]
    if outcome == "reported":  # the action was not taken before
        told.append((EventType.EXECUTION_STARTED, started))
    events = [WrittenEvent(event_type.value, action_id, agent_id, at, said) for event_type, said in told]
    note_events(connection, org_id, events)
    return "reported"


async def cancel(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    at: datetime,
    *,
    error: str,
    payload: str,
    failed: str,
    give_back: str | None,
) -> bool:
    """``give_back``: what ``store.unsent_exemption`` has answered."""
    cursor = await connection.execute(
        "SELECT cancel_action(%s, %s, %s, %s, %s, %s, %s, %s) AS outcome",
        [org_id, action_id, agent_id, at, error, payload, failed, give_back],
    )
    row = await cursor.fetchone()
    if row is None or row["outcome"] != "cancelled":
        return False
    cancelled = WrittenEvent(EventType.ACTION_CANCELLED.value, action_id, agent_id, at, payload)
    note_events(connection, org_id, [cancelled])
    return True
