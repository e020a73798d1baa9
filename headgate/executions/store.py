"""All SQL of the executor: functions of ``schema/functions/executions``, and what it reads before it claims."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from headgate.actions.execution_store import Orphan
from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.database import Connection
from headgate.executions.limits import limits_from
from headgate.executions.model import AttemptOf, Claim, ClaimOutcome, ExecutionLimits, Settlement
from headgate.kernel.canonical_json import canonical_bytes


class QueuedExecution(Struct, frozen=True):
    """A queued execution with what its decision needs. ``digest`` is of what was approved, as a reviewer may have
    edited it; ``requirements``: what its approval holds; None: it has none."""

    execution_id: str
    action_id: str
    agent_id: str
    agent_name: str
    tool: str
    operation: str
    digest: bytes
    approval_id: str | None
    requirements: str | None
    repeatable: bool
    priority: int
    generation: int
    limits: ExecutionLimits


async def keep_call(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    *,
    tool: str,
    operation: str,
    destination: str,
    repeatable: bool,
) -> None:
    """The call itself goes into the vault, in the same transaction."""
    await connection.execute(
        "INSERT INTO execution_calls (org_id, action_id, agent_id, tool, operation, destination, repeatable)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        [org_id, action_id, agent_id, tool, operation, destination, repeatable],
    )


async def forget_kept_call(connection: Connection, org_id: str, action_id: str) -> None:
    """Of an action that a reviewer has made another call of; one that is queued already stays."""
    await connection.execute("SELECT forget_kept_call(%s, %s)", [org_id, action_id])


async def queue_execution(
    connection: Connection, org_id: str, action_id: str, execution_id: str, at: datetime, *, priority: int
) -> bool:
    """The action's kept call becomes an execution and a job; False: there is none, its agent carries it out."""
    cursor = await connection.execute(
        "SELECT queue_execution(%s, %s, %s, %s, %s) AS queued", [org_id, action_id, execution_id, at, priority]
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["queued"])


async def find_queued(connection: Connection, org_id: str, execution_id: str) -> QueuedExecution | None:
    """None: it does not wait any more."""
    cursor = await connection.execute(
        "SELECT c.execution_id, c.action_id, c.agent_id, g.name, a.tool, a.operation,"
        " coalesce(p.edited_digest, a.digest) AS digest, a.approval_id, p.requirements, c.repeatable, c.priority,"
        " s.generation, t.document AS limits"
        " FROM execution_calls c JOIN actions a ON a.org_id = c.org_id AND a.action_id = c.action_id"
        " JOIN agents g ON g.org_id = c.org_id AND g.agent_id = c.agent_id JOIN org_state s ON s.org_id = c.org_id"
        " LEFT JOIN approvals p ON p.org_id = a.org_id AND p.approval_id = a.approval_id"
        " LEFT JOIN settings t ON t.org_id = c.org_id AND t.name = 'executions'"
        " WHERE c.org_id = %s AND c.execution_id = %s AND c.state = 'queued'",
        [org_id, execution_id],
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return QueuedExecution(
        execution_id=row["execution_id"],
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        agent_name=row["name"],
        tool=row["tool"],
        operation=row["operation"],
        digest=bytes(row["digest"]),
        approval_id=row["approval_id"],
        requirements=row["requirements"],
        repeatable=row["repeatable"],
        priority=row["priority"],
        generation=row["generation"],
        limits=limits_from(row["limits"]),
    )


async def claim(
    connection: Connection,
    org_id: str,
    execution_id: str,
    *,
    generation: int,
    instance_id: str,
    at: datetime,
    redecided: str,
    started: str,
    limits: ExecutionLimits,
    action_id: str,
    agent_id: str,
) -> Claim:
    """One attempt, durable when the transaction commits, which is before the first byte is sent. The last two are
    the execution's."""
    cursor = await connection.execute(
        "SELECT * FROM claim_execution(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            *(org_id, execution_id, generation, instance_id, at, redecided, started),
            *(limits.agent_concurrency, limits.destination_concurrency, limits.destination_per_second),
            limits.breaker_failures,
        ],
    )
    row = await cursor.fetchone()
    if row is None:
        return Claim(ClaimOutcome.GONE, 0.0, 0, at)
    if row["outcome"] == ClaimOutcome.CLAIMED:
        told = [(EventType.DECISION_MADE, redecided), (EventType.EXECUTION_STARTED, started)]
        note_events(connection, org_id, _events(action_id, agent_id, at, told))
    return Claim(ClaimOutcome(row["outcome"]), row["wait_seconds"], row["attempt"], at)


async def settle(
    connection: Connection,
    org_id: str,
    execution_id: str,
    settlement: Settlement,
    payload: str,
    *,
    tried: bool,
    at: datetime,
    limits: ExecutionLimits,
    withheld: str | None = None,
    give_back: str | None = None,
    attempt_of: AttemptOf | None = None,
) -> bool:
    """Ends, or puts back, what runs (``tried``) or what still waits. ``withheld``: the payload of an event of its own.
    ``give_back``: what ``unsent_exemption`` has answered. ``attempt_of``: only while that attempt runs.
    False: somebody else ended it first."""
    again = settlement.again_seconds
    cursor = await connection.execute(
        "SELECT of_action, of_agent"
        " FROM settle_execution(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            org_id,
            execution_id,
            "running" if tried else "queued",
            at,
            settlement.succeeded,
            settlement.error,
            None if settlement.result is None else canonical_bytes(settlement.result).decode(),
            payload,
            None if again is None else at + timedelta(seconds=again),
            settlement.healthy,
            limits.breaker_failures,
            limits.breaker_seconds,
            withheld,
            settlement.nothing_sent,
            give_back,
            None if attempt_of is None else attempt_of.instance_id,
            None if attempt_of is None else attempt_of.started_at,
        ],
    )
    row = await cursor.fetchone()
    if row is None:
        return False
    ended = EventType.EXECUTION_COMPLETED if settlement.succeeded else EventType.EXECUTION_FAILED
    told = [] if withheld is None else [(EventType.RESPONSE_WITHHELD, withheld)]
    told.append((ended if again is None else EventType.EXECUTION_RESCHEDULED, payload))
    note_events(connection, org_id, _events(row["of_action"], row["of_agent"], at, told))
    return True


async def unsent_exemption(connection: Connection, org_id: str, execution_id: str, *, tried: bool) -> str | None:
    """The grant or the broken glass whose use is to be given back with an end as failed, as nothing was sent."""
    cursor = await connection.execute(
        "SELECT unsent_exemption(%s, %s, %s) AS exemption", [org_id, execution_id, "running" if tried else "queued"]
    )
    row = await cursor.fetchone()
    return None if row is None else row["exemption"]


async def release_orphans(
    connection: Connection, org_id: str, orphans: Sequence[Orphan], *, most_attempts: int, at: datetime, payload: str
) -> Sequence[str]:
    """What is declared repeatable waits again. Returns those that are to be ended as failed; what somebody else has
    closed meanwhile, and perhaps begun anew, is in neither."""
    cursor = await connection.execute(
        "SELECT release_orphans(%s, %s, %s, %s, %s, %s, %s) AS to_end",
        [
            org_id,
            [one.execution_id for one in orphans],
            [one.instance_id for one in orphans],
            [one.started_at for one in orphans],
            *(most_attempts, at, payload),
        ],
    )
    row = await cursor.fetchone()
    return () if row is None else row["to_end"]


async def forget_calls(connection: Connection, after: timedelta) -> int:
    """Calls that will not run any more, over all organizations."""
    cursor = await connection.execute("SELECT forget_calls(%s, 1000) AS forgotten", [after])
    row = await cursor.fetchone()
    return 0 if row is None else int(row["forgotten"])


async def find_lost(connection: Connection) -> int:
    """Queued executions whose job is gone are deferred again, over all organizations."""
    cursor = await connection.execute("SELECT find_lost_executions() AS found")
    row = await cursor.fetchone()
    return 0 if row is None else int(row["found"])


async def queued_executions(connection: Connection, org_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT execution_id FROM execution_calls WHERE org_id = %s AND state = 'queued' ORDER BY execution_id",
        [org_id],
    )
    return [row["execution_id"] for row in await cursor.fetchall()]


async def running_executions(connection: Connection, org_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT execution_id FROM executions WHERE org_id = %s AND status = 'running' ORDER BY execution_id", [org_id]
    )
    return [row["execution_id"] for row in await cursor.fetchall()]


async def settle_unsent(
    connection: Connection, org_id: str, execution_id: str, at: datetime, error: str, payload: str
) -> None:
    """Ends a queued execution as failed; no use is given back. ``payload``: of the event that it failed."""
    await connection.execute(
        "SELECT settle_execution(%s, %s, 'queued', %s, false, %s, NULL, %s, NULL, NULL, 1, 1)",
        [org_id, execution_id, at, error, payload],
    )


def _events(action_id: str, agent_id: str, at: datetime, told: Iterable[tuple[EventType, str]]) -> list[WrittenEvent]:
    return [WrittenEvent(event_type.value, action_id, agent_id, at, payload) for event_type, payload in told]


async def delete_calls(connection: Connection, org_id: str) -> None:
    """Of all actions. For the owner's role only."""
    await connection.execute("DELETE FROM vault_secrets WHERE org_id = %s AND name LIKE 'call/%%'", [org_id])
    await connection.execute("DELETE FROM execution_calls WHERE org_id = %s", [org_id])
