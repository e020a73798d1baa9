"""A database of another version is refused with the reason; one of an earlier version is brought to this one."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from msgspec import structs

from headgate.db.migrate import MigrationError, Schema, Script, declared_schema, migrate

OURS = declared_schema()
FIRST = Schema((Script("01_notes", "CREATE TABLE notes (id text PRIMARY KEY);"),), (), ())
ADD_BODY = Script("0001_add_body", "ALTER TABLE notes ADD COLUMN body text NOT NULL DEFAULT '';")
ADD_TITLE = Script("0002_add_title", "ALTER TABLE notes ADD COLUMN title text;")
SECOND = Schema(
    (Script("01_notes", "CREATE TABLE notes (id text PRIMARY KEY, title text, body text NOT NULL DEFAULT '');"),),
    (),
    (ADD_BODY, ADD_TITLE),
)
LATER = replace(OURS, migrations=(*OURS.migrations, Script("9999_later", "SELECT 1;")))


@pytest.fixture
def empty_url(postgres_server):
    """The owner's address of a database in which nothing is."""
    with psycopg.connect(postgres_server.administrator_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty OWNER headgate_owner")
    yield postgres_server.url("headgate_owner", "empty")
    postgres_server.drop_database("empty")


def _columns(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT attname FROM pg_attribute WHERE attrelid = 'notes'::regclass AND attnum > 0")
        return {str(name) for (name,) in rows.fetchall()}


async def test_an_empty_database_gets_the_declared_schema_and_no_migration(empty_url) -> None:
    assert await migrate(empty_url, SECOND) == ["schema", "functions"]
    assert _columns(empty_url) == {"id", "title", "body"}
    assert await migrate(empty_url, SECOND) == []


async def test_of_many_starters_one_makes_the_schema(empty_url) -> None:
    answers = await asyncio.gather(*(migrate(empty_url) for _ in range(4)))
    assert sorted(answers) == [[], [], [], ["schema", "functions"]]


async def test_a_database_that_exists_gets_the_migrations_that_it_lacks(empty_url) -> None:
    await migrate(empty_url, FIRST)
    middle = replace(FIRST, tables=(Script("01_notes", "middle"),), migrations=(ADD_BODY,))
    assert await migrate(empty_url, middle) == ["0001_add_body"]
    assert await migrate(empty_url, SECOND) == ["0002_add_title"]
    assert _columns(empty_url) == {"id", "title", "body"}
    assert await migrate(empty_url, SECOND) == []


async def test_a_migration_that_fails_leaves_nothing_and_is_named(empty_url) -> None:
    await migrate(empty_url, FIRST)
    broken = replace(SECOND, migrations=(ADD_BODY, Script("0002_broken", f"{ADD_TITLE.sql} SELECT 1 / 0;")))
    with pytest.raises(MigrationError, match=r"broken\.sql could not be applied: division by zero"):
        await migrate(empty_url, broken)
    assert _columns(empty_url) == {"id", "body"}
    assert await migrate(empty_url, SECOND) == ["0002_add_title"]


@pytest.mark.parametrize("comment", ["-- why\n", "\n\n   ", "  -- why not\n"])
async def test_comments_and_white_space_of_tables_do_not_make_another_version(empty_url, comment) -> None:
    await migrate(empty_url, FIRST)
    same = replace(FIRST, tables=(structs.replace(FIRST.tables[0], sql=comment + FIRST.tables[0].sql),))
    assert await migrate(empty_url, same) == []


async def test_tables_that_no_migration_leads_to_are_refused(empty_url) -> None:
    await migrate(empty_url, FIRST)
    with pytest.raises(MigrationError, match="the tables of this database are not those of this version"):
        await migrate(empty_url, replace(SECOND, migrations=()))


async def test_a_database_from_before_the_declared_schema_is_refused(database_url) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE schema_migrations SET name = '0001_roles' WHERE name = 'schema'")
    with pytest.raises(MigrationError, match="the tables of this database are not those of this version"):
        await migrate(database_url)


async def test_a_database_of_a_later_version_is_refused(empty_url, database_url) -> None:
    await migrate(empty_url, SECOND)
    with pytest.raises(MigrationError, match=r"of a later version of Headgate \(it has 0002_add_title\)"):
        await migrate(empty_url, replace(SECOND, migrations=(ADD_BODY,)))
    await migrate(database_url, LATER)
    with pytest.raises(MigrationError, match=r"of a later version of Headgate \(it has 9999_later\)"):
        await migrate(database_url)


@pytest.mark.parametrize("left", [(ADD_TITLE,), ()])
async def test_a_migration_that_was_changed_is_refused(empty_url, left) -> None:
    """Also where others are gone: no later version has what is missing."""
    await migrate(empty_url, SECOND)
    changed = replace(SECOND, migrations=(structs.replace(ADD_BODY, sql=f"{ADD_BODY.sql}-- another\n"), *left))
    with pytest.raises(MigrationError, match="migration 0001_add_body was changed after it had been applied"):
        await migrate(empty_url, changed)


async def test_functions_are_applied_again_when_one_has_changed(database_url) -> None:
    assert await migrate(database_url) == []
    open_count = next(script for script in OURS.functions if script.name == "approvals_open")
    changed = tuple(
        structs.replace(script, sql=script.sql.replace("SELECT count(*)", "SELECT 41 + count(*)"))
        if script is open_count else script
        for script in OURS.functions
    )  # fmt: skip
    assert await migrate(database_url, replace(OURS, functions=changed)) == ["functions"]
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT approvals_open()").fetchone() == (41,)
    assert await migrate(database_url, replace(OURS, functions=changed)) == []
    assert await migrate(database_url) == ["functions"]
