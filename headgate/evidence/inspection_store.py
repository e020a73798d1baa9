"""Writing an imported record into a database that holds nothing else, as its owner; and closing it behind that."""

from datetime import datetime

from headgate.db.database import Connection, Database
from headgate.evidence.inspection import Inspection
from headgate.kernel.errors import ConflictError
from headgate.retention.sweep_store import organizations


async def import_record(database: Database, record: Inspection, at: datetime) -> None:
    """All of it, in one transaction; from then on the database changes nothing. Raises ConflictError where it holds
    anything already."""
    async with database.transaction(record.org_id) as connection:
        await connection.execute("LOCK TABLE organizations IN EXCLUSIVE MODE")
        if await organizations(connection, after="", limit=1):
            raise ConflictError("this instance is not empty: a record can be imported only into an empty instance")
        await connection.execute(
            "INSERT INTO organizations (org_id, name, inspected_since) VALUES (%s, %s, %s)",
            [record.org_id, f"Inspection of {record.org_id}", at],
        )
        await connection.execute("INSERT INTO org_state (org_id) VALUES (%s)", [record.org_id])
        await _insert_events(connection, record)
        await _insert_actions(connection, record)
        await connection.execute("CALL begin_inspection()")


async def _insert_events(connection: Connection, record: Inspection) -> None:
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO audit_chain (org_id, seq, header, hash, sealed_at) VALUES (%s, %s, %s, %s, %s)",
            [(record.org_id, one.seq, one.header, one.hash, one.sealed_at) for one in record.events],
        )
        await cursor.executemany(
            "INSERT INTO audit_events (org_id, seq, event_id, event_type, action_id, agent_id, created_at, sealed_at,"
            " salt, payload) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (record.org_id, one.seq, one.event_id, one.event_type, one.action_id, one.agent_id, one.created_at,
                 one.sealed_at, one.salt, one.payload)
                for one in record.events
            ],
        )  # fmt: skip


async def _insert_actions(connection: Connection, record: Inspection) -> None:
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO actions (org_id, action_id, agent_id, source, tool, operation, status, digest, request,"
            " body_state, decision, risk_level, created_at, updated_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (record.org_id, one.action_id, one.agent_id, one.source, one.tool, one.operation, one.status,
                 one.digest, one.request, one.body_state, one.decision, one.risk_level, one.created_at, one.created_at)
                for one in record.actions
            ],
        )  # fmt: skip
