"""Claims a use of a grant or of break-glass with the SQL function ``use_exemption``
(``schema/functions/grants/use_exemption.sql``): one statement that locks, checks, counts and records."""

from decimal import Decimal
from typing import NamedTuple

from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome, events_of_action
from headgate.audit.model import EventType
from headgate.audit.written_events import WrittenEvent, note_events
from headgate.db.database import Connection


class Exemption(NamedTuple):
    """``exemption_id`` is a grant's or a broken glass's; ``amount`` is what the call adds to a grant's sum."""

    exemption_id: str
    amount: Decimal


async def use_exemption(connection: Connection, exemption: Exemption, row: ActionRow) -> RecordingOutcome:
    """Claim one use and record the action; durable when the transaction commits, before the first byte is sent."""
    given = (
        row.org_id, row.generation, exemption.exemption_id, exemption.amount, row.action_id, row.agent_id, row.key_id,
        row.source, row.tool, row.operation, row.status, row.digest, bytes(row.request).decode(),
        bytes(row.decision).decode(), row.risk_level, row.parent_action_id, row.created_at, row.execution_id,
        row.instance_id, row.idempotency_key, row.request_digest, row.submitted, row.decided, row.started,
    )  # fmt: skip
    parameters = ", ".join(["%s"] * len(given))
    statement = f"SELECT outcome, told, is_exhausted FROM use_exemption({parameters})"  # noqa: S608 - placeholders
    cursor = await connection.execute(statement, given)
    answer = await cursor.fetchone()
    if answer is None:
        raise RuntimeError("use_exemption answers one row")
    outcome = RecordingOutcome.of(answer["outcome"])
    if outcome is RecordingOutcome.RECORDED:
        types = [EventType.GRANT_USED if exemption.exemption_id.startswith("grt_") else EventType.BREAK_GLASS_USED]
        if answer["is_exhausted"]:
            types.append(EventType.GRANT_EXHAUSTED)
        claims = [WrittenEvent(one.value, row.action_id, row.agent_id, row.created_at, answer["told"]) for one in types]
        note_events(connection, row.org_id, [*events_of_action(row), *claims])
    return outcome
