"""What is counted of guesses. Every function runs inside the caller's transaction of the organization."""

from datetime import datetime, timedelta
from typing import Final

from headgate.db.database import Connection
from headgate.mfa.attempts import MOST_ATTEMPTS, MOST_FROM_EVERYWHERE, Attempts, Counted, begin_attempt
from headgate.mfa.model import Attempted, Person

_EVERYWHERE: Final = ""
_REMEMBERED: Final = timedelta(days=7)
"""Longer than the longest lock."""


async def count_attempt(connection: Connection, person: Person, attempted: Attempted, now: datetime) -> Counted:
    """Under locks, so that those that begin at once are counted one by one. What a locked place sends is not counted
    against the person. Raises RateLimitedError."""
    everywhere = await _known(connection, person, attempted, _EVERYWHERE)  # first: one order of locks
    here = await _known(connection, person, attempted, person.source)
    counted = Counted(
        begin_attempt(here, now, most=MOST_ATTEMPTS), begin_attempt(everywhere, now, most=MOST_FROM_EVERYWHERE)
    )
    await _keep(connection, person, attempted, person.source, counted.here)
    await _keep(connection, person, attempted, _EVERYWHERE, counted.everywhere)
    await connection.execute(
        "DELETE FROM mfa_attempts WHERE org_id = %s AND user_id = %s AND source <> %s AND began_at < %s",
        [person.org_id, person.user_id, _EVERYWHERE, now - _REMEMBERED],
    )
    return counted


async def forget_attempts(connection: Connection, person: Person, attempted: Attempted) -> None:
    """After a success: those of this place, and those of all together; another place that is locked stays so."""
    await connection.execute(
        "DELETE FROM mfa_attempts WHERE org_id = %s AND user_id = %s AND attempted = %s AND source IN (%s, %s)",
        [person.org_id, person.user_id, attempted.value, _EVERYWHERE, person.source],
    )


async def forget_all_attempts(connection: Connection, org_id: str, user_id: str) -> list[Attempted]:
    """As if nobody had guessed. Answers of what there were any."""
    cursor = await connection.execute(
        "DELETE FROM mfa_attempts WHERE org_id = %s AND user_id = %s RETURNING attempted", [org_id, user_id]
    )
    return sorted({Attempted(row["attempted"]) for row in await cursor.fetchall()})


async def _known(connection: Connection, person: Person, attempted: Attempted, source: str) -> Attempts:
    key = [person.org_id, person.user_id, attempted.value, source]
    await connection.execute(
        "INSERT INTO mfa_attempts (org_id, user_id, attempted, source, count, lock_outs) VALUES (%s, %s, %s, %s, 0, 0)"
        " ON CONFLICT DO NOTHING",
        key,
    )
    cursor = await connection.execute(
        "SELECT count, began_at, locked_until, lock_outs FROM mfa_attempts"
        " WHERE org_id = %s AND user_id = %s AND attempted = %s AND source = %s FOR UPDATE",
        key,
    )
    row = await cursor.fetchone()
    if row is None:
        return Attempts()
    return Attempts(row["count"], row["began_at"], row["locked_until"], row["lock_outs"])


async def _keep(connection: Connection, person: Person, attempted: Attempted, source: str, counted: Attempts) -> None:
    await connection.execute(
        "UPDATE mfa_attempts SET count = %s, began_at = %s, locked_until = %s, lock_outs = %s"
        " WHERE org_id = %s AND user_id = %s AND attempted = %s AND source = %s",
        [
            counted.count,
            counted.began_at,
            counted.locked_until,
            counted.lock_outs,
            person.org_id,
            person.user_id,
            attempted.value,
            source,
        ],
    )
