"""The queue on a real server: deferred in our transaction, tried again, given up, and never lost with its worker."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from headgate.db.database import Database
from headgate.kernel.errors import ConflictError
from headgate.kernel.secrets import Secret
from headgate.queue import sweep
from headgate.queue.model import Job, JobReference, RetryLater, Work
from headgate.queue.runner import JobRunner
from headgate.queue.store import defer, queue_states


async def test_a_job_exists_if_its_transaction_commits(
    api_database: Database, organization, job: Job, running, eventually
) -> None:
    done: list[JobReference] = []

    async def handler(reference: JobReference) -> None:
        done.append(reference)

    with pytest.raises(ConflictError):
        async with api_database.transaction(organization.org_id) as connection:
            assert await defer(connection, job, organization.org_id, "undone")
            raise ConflictError("rolled back")
    async with api_database.transaction(organization.org_id) as connection:
        assert await defer(connection, job, organization.org_id, "done")
    async with running([Work(job, handler)]):
        await eventually(lambda: bool(done))
        await asyncio.sleep(0.2)
    assert done == [JobReference(organization.org_id, "done", 1)]
    async with api_database.across_organizations() as connection:
        assert job.queue not in [one.queue for one in await queue_states(connection)]


async def test_every_part_may_defer_and_none_but_the_worker_may_read(
    proxy_database: Database, worker_database: Database, organization, job: Job, cluster
) -> None:
    for database in (proxy_database, worker_database):
        async with database.transaction(organization.org_id) as connection:
            assert await defer(connection, job, organization.org_id, "x")
    for part in ("api", "proxy", "auditor"):
        with (
            psycopg.connect(cluster.dsn(f"headgate_{part}"), autocommit=True) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT * FROM queue.procrastinate_jobs")


async def test_failures_are_tried_again_and_then_given_up(
    api_database: Database, organization, job: Job, running, eventually
) -> None:
    attempts: list[int] = []
    abandoned: list[tuple[JobReference, str]] = []

    async def fail(reference: JobReference) -> None:
        attempts.append(reference.attempt)
        if reference.attempt == 1:
            raise RetryLater("the receiver said when", after_seconds=0.3)
        raise ValueError("broken")

    async def give_up(reference: JobReference, reason: str) -> None:
        abandoned.append((reference, reason))

    async with api_database.transaction(organization.org_id) as connection:
        await defer(connection, job, organization.org_id, "poor")
    async with running([Work(job, fail, give_up)]):
        await eventually(lambda: bool(abandoned))
        await asyncio.sleep(0.3)
    assert attempts == [1, 2, 3]
    assert abandoned == [(JobReference(organization.org_id, "poor", 3), "ValueError: broken")]
    async with api_database.transaction(organization.org_id) as connection:
        assert [one.dead for one in await queue_states(connection) if one.queue == job.queue] == [1]


async def test_order_priority_time_and_once(
    api_database: Database, organization, job: Job, running, eventually
) -> None:
    done: list[str] = []

    async def handler(reference: JobReference) -> None:
        await asyncio.sleep(0.05 if reference.subject_id == "first" else 0)
        done.append(reference.subject_id)

    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await defer(connection, job, org_id, "later", at=datetime.now(UTC) + timedelta(seconds=1.2))
        await defer(connection, job, org_id, "first", lock=org_id, priority=9)
        await defer(connection, job, org_id, "second", lock=org_id, priority=9)
        await defer(connection, job, org_id, "urgent", priority=10)
        assert await defer(connection, job, org_id, "single", once=org_id)
        assert not await defer(connection, job, org_id, "single", once=org_id)
    async with running([Work(job, handler)]):
        await eventually(lambda: len(done) == 5)
    assert done[-1] == "later" and done.index("first") < done.index("second") and done.count("single") == 1
    assert done.index("urgent") < done.index("first")


async def test_the_runner_goes_on_when_its_connections_die(
    api_database: Database, organization, job: Job, running, eventually, superuser, cluster
) -> None:
    done: list[str] = []

    async def handler(reference: JobReference) -> None:
        done.append(reference.subject_id)

    async with running([Work(job, handler)]):
        for name in ("one", "two", "three"):
            async with api_database.transaction(organization.org_id) as connection:
                await defer(connection, job, organization.org_id, name)
            await eventually(lambda name=name: name in done, within_seconds=40)
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = 'headgate_worker' AND datname = %s",
                [cluster.name],
            )


async def test_every_worker_of_a_runner_is_heard(job: Job, running, eventually, superuser) -> None:
    async def handler(_: JobReference) -> None: ...

    def heard() -> int:
        found = superuser.execute(
            "SELECT FROM queue.procrastinate_workers WHERE last_heartbeat > now() - interval '1 minute'"
        )
        return int(found.rowcount)

    before = heard()
    other = replace(job, name=f"{job.name}.other", queue=f"{job.queue}.other")
    async with running([Work(job, handler), Work(other, handler)]):
        await eventually(lambda: heard() == before + 2)
        superuser.execute("UPDATE queue.procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
        await eventually(lambda: heard() == 2)


async def test_a_job_that_kills_its_worker_is_put_back_and_at_last_given_up(
    api_database: Database, organization, job: Job, running, eventually, cluster, tmp_path: Path, monkeypatch
) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        await defer(connection, job, organization.org_id, "poison")
    lines = tmp_path / "runs"
    script = Path(__file__).with_name("crashing_worker.py")
    worker = await asyncio.create_subprocess_exec(
        sys.executable, str(script), cluster.dsn("headgate_worker"), job.queue, job.name, str(lines)
    )
    assert await worker.wait() == -9
    assert lines.read_text() == "poison 1\n"

    monkeypatch.setattr(sweep, "SILENT_SECONDS", 3.0)
    seen: list[tuple[str, int]] = []

    async def survive(reference: JobReference) -> None:
        seen.append((reference.subject_id, reference.attempt))

    async with running([Work(job, survive)]):
        await eventually(lambda: bool(seen), within_seconds=40)
    assert seen == [("poison", 2)]


async def test_a_poison_job_is_given_up(
    api_database: Database, organization, job: Job, running, eventually, superuser, monkeypatch
) -> None:
    async with api_database.transaction(organization.org_id) as connection:
        await defer(connection, job, organization.org_id, "poison")
    # Fetched for the third time by a worker that is gone.
    superuser.execute("SET search_path = queue")
    superuser.execute("UPDATE procrastinate_jobs SET attempts = 2, status = 'doing' WHERE queue_name = %s", [job.queue])
    given_up: list[tuple[JobReference, str]] = []

    async def handler(reference: JobReference) -> None:
        raise AssertionError("it is not run again")

    async def give_up(reference: JobReference, reason: str) -> None:
        given_up.append((reference, reason))

    async with running([Work(job, handler, give_up)]):
        await eventually(lambda: bool(given_up))
    assert given_up == [(JobReference(organization.org_id, "poison", 3), sweep.KILLED)]


async def test_a_runner_that_stops_while_its_workers_begin_stops_at_once(cluster, job: Job) -> None:
    """They begin one after the other, and one that begins after its stop would run for ever."""

    async def nothing(_reference: JobReference) -> None: ...

    works = [
        Work(replace(job, name=f"{job.name}_{number}", queue=f"{job.queue}_{number}"), nothing) for number in range(8)
    ]
    stop = asyncio.Event()
    running = asyncio.create_task(JobRunner(Secret(cluster.dsn("headgate_worker")), works).run(stop))
    await asyncio.sleep(0.4)
    stop.set()
    async with asyncio.timeout(4):
        await running
