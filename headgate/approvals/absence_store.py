"""Absences of approvers in the database."""

from datetime import datetime
from typing import Final

from psycopg import sql
from psycopg.rows import DictRow

from headgate.agents.scopes import may_approve
from headgate.approvals.absences import Absence
from headgate.approvals.group_store import groups_by_user
from headgate.approvals.standing import Named
from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.organizations.store import find_users, persons_of

_COLUMNS: Final = "absence_id, user_id, stand_in, starts_at, ends_at, note, created_by, created_at"
_SELECT: Final = f"SELECT {_COLUMNS} FROM approver_absences WHERE org_id = %s"  # noqa: S608 - a constant of this file


async def insert_absence(connection: Connection, org_id: str, absence: Absence) -> None:
    await connection.execute(
        f"INSERT INTO approver_absences (org_id, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608 - a constant of this file
        [
            org_id,
            absence.absence_id,
            absence.user_id,
            absence.stand_in,
            absence.starts_at,
            absence.ends_at,
            absence.note,
            absence.created_by,
            absence.created_at,
        ],
    )


async def absences_are_changed_one_at_a_time(connection: Connection, org_id: str, user_id: str) -> None:
    """Locks absences until the transaction ends. An overlap check cannot lock a row that does not exist yet."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('headgate.absence ' || %s || %s, 0))", [org_id, user_id]
    )


async def overlapping(
    connection: Connection, org_id: str, user_id: str, starts_at: datetime, ends_at: datetime
) -> Absence | None:
    """Returns an absence of this person that overlaps the time from ``starts_at`` until ``ends_at``."""
    cursor = await connection.execute(
        _SELECT + " AND user_id = %s AND starts_at < %s AND ends_at > %s ORDER BY starts_at LIMIT 1",
        [org_id, user_id, ends_at, starts_at],
    )
    row = await cursor.fetchone()
    return None if row is None else _absence(row)


async def find_absence(connection: Connection, org_id: str, absence_id: str) -> Absence | None:
    cursor = await connection.execute(_SELECT + " AND absence_id = %s", [org_id, absence_id])
    row = await cursor.fetchone()
    return None if row is None else _absence(row)


async def end_absence(connection: Connection, org_id: str, absence_id: str, at: datetime) -> None:
    """Ends the absence at ``at``; an absence that has not begun never begins."""
    await connection.execute(
        "UPDATE approver_absences SET ends_at = greatest(least(ends_at, %s), starts_at + interval '1 microsecond')"
        " WHERE org_id = %s AND absence_id = %s",
        [at, org_id, absence_id],
    )


async def list_absences(
    connection: Connection,
    org_id: str,
    *,
    user_id: str | None,
    since: datetime,
    limit: int,
    offset: int,
    exact_total: bool = False,
) -> tuple[list[Absence], BoundedCount]:
    """Lists absences that end after ``since``, earliest start first: of one person (as absentee or delegate) or of
    all."""
    person = "" if user_id is None else " AND (user_id = %(user)s OR stand_in = %(user)s)"
    values = {"org": org_id, "since": since, "user": user_id}
    # One that was called off before it began lasts a microsecond (``end_absence``).
    over = " AND ends_at > %(since)s AND ends_at > starts_at + interval '1 microsecond'"
    source = sql.SQL("approver_absences WHERE org_id = %(org)s" + over + person)
    page = sql.SQL("SELECT {} FROM {} ORDER BY starts_at, absence_id LIMIT %(limit)s OFFSET %(offset)s")
    cursor = await connection.execute(
        page.format(sql.SQL(_COLUMNS), source), {**values, "limit": limit, "offset": offset}, prepare=False
    )
    found = [_absence(row) for row in await cursor.fetchall()]
    return found, await count_rows(connection, source, values, exact=exact_total, prepare=False)


async def stands_in_for(connection: Connection, org_id: str, user_id: str, now: datetime) -> tuple[Named, ...]:
    """Lists the people who are away now, could decide themselves, and have named this person as delegate, with their
    current names, groups and users."""
    cursor = await connection.execute(
        "SELECT user_id FROM approver_absences"
        " WHERE org_id = %s AND stand_in = %s AND starts_at <= %s AND ends_at > %s",
        [org_id, user_id, now, now],
    )
    absent = [row["user_id"] for row in await cursor.fetchall()]
    users = await find_users(connection, org_id, absent)
    groups = await groups_by_user(connection, org_id, {one.user_id: one.email for one in users.values()})
    persons = await persons_of(connection, org_id, absent)
    return tuple(
        Named(one.user_id, one.email, groups[one.user_id], persons[one.user_id] - {one.user_id})
        for one in users.values()
        if one.deactivated_at is None and may_approve(one.roles)
    )


def _absence(row: DictRow) -> Absence:
    return Absence(
        absence_id=row["absence_id"],
        user_id=row["user_id"],
        stand_in=row["stand_in"],
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        note=row["note"],
        created_by=row["created_by"],
        created_at=row["created_at"],
    )
