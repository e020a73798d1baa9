"""The queue's schema is that of the installed package, included by our schema: we have no copy of it."""

from hashlib import sha256
from importlib import resources
from typing import Final

import psycopg

from headgate.db.migrate import declared_schema

_FETCH_JOB: Final = "1eb2a240572248079acf311df9a70269f8132605d4e36a4c2118d2356200825b"
_NEWEST: Final = "03.04.00_50_post_add_retry_failed_job_procedure.sql"


def test_the_installed_package_has_no_migration_that_databases_lack() -> None:
    """Where this fails: a migration of ours for the databases that there are (docs/decisions/0016)."""
    names = [file.name for file in (resources.files("procrastinate.sql") / "migrations").iterdir()]
    assert max(name for name in names if name.endswith(".sql")) == _NEWEST


def test_the_packages_way_to_take_a_job_is_the_one_that_ours_follows() -> None:
    """Where this fails: compare ``schema/functions/queue/take_job_in_share.sql`` with the package's function, and the
    columns with those of ``headgate.queue.shares``; then write the new digest here."""
    [queue] = [one for one in declared_schema().tables if one.name == "20_queue"]
    theirs = queue.statements.partition("CREATE FUNCTION procrastinate_fetch_job_v2(")[2].partition("$$;")[0]
    assert sha256(theirs.encode()).hexdigest() == _FETCH_JOB


def test_what_is_included_is_run_and_what_is_written_is_compared() -> None:
    [queue] = [one for one in declared_schema().tables if one.name == "20_queue"]
    assert "CREATE TABLE procrastinate_jobs" in queue.statements
    assert "CREATE TABLE procrastinate_jobs" not in queue.sql
    assert queue.checksum == sha256(queue.sql.encode()).hexdigest()


def test_it_lies_in_a_schema_of_its_own(superuser: psycopg.Connection[tuple[object, ...]]) -> None:
    rows = superuser.execute("SELECT nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
                             " WHERE relname = 'procrastinate_jobs'").fetchall()  # fmt: skip
    assert rows == [("queue",)]
