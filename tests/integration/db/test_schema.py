"""A database that is made now and one that was brought here by migrations have the same schema, object by object."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headgate.db.migrate import Schema, Script, declared_schema, migrate
from tests.integration.db.catalogue import catalogue

FIRST_RELEASE = Path(__file__).with_name("first_release.sql")
"""The files of ``headgate/db/schema``, one after the other, as the first release has them. Not there before it."""


@pytest.fixture
def migrated(postgres_server) -> Iterator[str]:
    """The owner's address of an empty database."""
    with psycopg.connect(postgres_server.administrator_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated_from_release OWNER headgate_owner")
    yield postgres_server.url("headgate_owner", "migrated_from_release")
    postgres_server.drop_database("migrated_from_release")


def _first_release() -> Schema:
    now = declared_schema()
    if not FIRST_RELEASE.exists():
        assert now.migrations == (), f"keep the schema that migrations begin with in {FIRST_RELEASE.name}"
        return now
    return Schema((Script("first_release", FIRST_RELEASE.read_text("utf-8")),), (), ())


async def test_the_schema_from_zero_is_the_schema_after_all_migrations(postgres_server, cluster, migrated) -> None:
    await migrate(migrated, _first_release())
    await migrate(migrated)
    with (
        psycopg.connect(cluster.dsn("postgres"), autocommit=True) as zero,
        psycopg.connect(postgres_server.url("postgres", "migrated_from_release"), autocommit=True) as upgraded,
    ):
        assert catalogue(upgraded) == catalogue(zero)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (org_id text)",
        "ALTER TABLE agents ADD COLUMN more text",
        "ALTER TABLE agents ALTER COLUMN name DROP NOT NULL",
        "ALTER TABLE agents ALTER COLUMN status SET DEFAULT 'suspended'",
        "ALTER TABLE agents DROP CONSTRAINT agents_status_check",
        "ALTER TABLE agents NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE agents OWNER TO postgres",
        "ALTER TABLE journal SET (vacuum_truncate = true)",
        "DROP INDEX agents_by_owner",
        "DROP STATISTICS audit_facets_values",
        "DROP POLICY one_organization ON agents",
        "DROP TRIGGER name_tool ON approvals",
        "GRANT DELETE ON agents TO headgate_api",
        "GRANT UPDATE (name) ON agents TO headgate_proxy",
        "GRANT EXECUTE ON FUNCTION approvals_due TO headgate_api",
        "GRANT USAGE ON SCHEMA queue TO headgate_api",
        "ALTER FUNCTION approvals_open() OWNER TO headgate_owner",
        "ALTER FUNCTION approvals_open() SECURITY INVOKER",
        "CREATE OR REPLACE FUNCTION current_org() RETURNS text LANGUAGE sql STABLE RETURN 'org_other'",
        "ALTER TYPE queue.procrastinate_job_status ADD VALUE 'more'",
    ],
)
def test_a_difference_of_any_kind_is_found(superuser, change) -> None:
    before = catalogue(superuser)
    with superuser.transaction(force_rollback=True):
        superuser.execute(change)
        assert catalogue(superuser) != before
    assert catalogue(superuser) == before


def test_the_order_of_columns_is_no_difference(superuser) -> None:
    with superuser.transaction(force_rollback=True):
        superuser.execute("CREATE TABLE more (a text, b text)")
        before = catalogue(superuser)
        superuser.execute("DROP TABLE more; CREATE TABLE more (b text, a text)")
        assert catalogue(superuser) == before
