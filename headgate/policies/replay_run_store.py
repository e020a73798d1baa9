"""The last replay of each person that runs in the background: one row a person."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.db.database import Connection

_ENDED_AFTER: Final = "interval '30 seconds'"
_SELECT: Final = (
    "SELECT run, done, total, finished_at, report, failure,"  # noqa: S608 - constants of this file
    f" finished_at IS NULL AND told_at < clock_timestamp() - {_ENDED_AFTER} AS is_interrupted"
    " FROM policy_replay_runs WHERE org_id = %s AND user_id = %s"
)


class ReplayRun(Struct, frozen=True):
    """``done`` of ``total`` calls. ``report`` is JSON; ``failure`` says why there is none. ``is_interrupted``: its
    process ended before it did."""

    run: str
    done: int
    total: int
    finished_at: datetime | None
    report: str | None
    failure: str | None
    is_interrupted: bool


async def begin_run(connection: Connection, org_id: str, user_id: str, run: str) -> None:
    """In place of the person's last one."""
    await connection.execute(
        "INSERT INTO policy_replay_runs (org_id, user_id, run, told_at) VALUES (%s, %s, %s, clock_timestamp())"
        " ON CONFLICT (org_id, user_id) DO UPDATE SET run = excluded.run, told_at = excluded.told_at, done = 0,"
        " total = 0, finished_at = NULL, report = NULL, failure = NULL",
        [org_id, user_id, run],
    )


async def tell_run(connection: Connection, org_id: str, user_id: str, run: str, done: int, total: int) -> None:
    """Nothing where another run has taken its place."""
    await connection.execute(
        "UPDATE policy_replay_runs SET done = %s, total = %s, told_at = clock_timestamp()"
        " WHERE org_id = %s AND user_id = %s AND run = %s AND finished_at IS NULL",
        [done, total, org_id, user_id, run],
    )


async def finish_run(
    connection: Connection, org_id: str, user_id: str, run: str, report: str | None, failure: str | None
) -> None:
    """Nothing where another run has taken its place."""
    await connection.execute(
        "UPDATE policy_replay_runs SET report = %s, failure = %s, finished_at = clock_timestamp(),"
        " told_at = clock_timestamp() WHERE org_id = %s AND user_id = %s AND run = %s",
        [report, failure, org_id, user_id, run],
    )


async def newest_progress(connection: Connection, org_id: str) -> object:
    """Changes with each step of any run, and when the process of one has ended before it."""
    cursor = await connection.execute(
        "SELECT max(told_at) AS told_at, count(*) FILTER (WHERE finished_at IS NULL AND told_at <"  # noqa: S608 - constants of this file
        f" clock_timestamp() - {_ENDED_AFTER}) AS interrupted FROM policy_replay_runs WHERE org_id = %s",
        [org_id],
    )
    return await cursor.fetchone()


async def last_run(connection: Connection, org_id: str, user_id: str) -> ReplayRun | None:
    """None: the person has started none."""
    row = await (await connection.execute(_SELECT, [org_id, user_id])).fetchone()
    return None if row is None else ReplayRun(**row)
