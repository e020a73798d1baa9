"""The schema can be distributed by organization: every table is held against the rules of Citus.

The rules (Citus documentation, "Creating and Modifying Distributed Objects"): a unique key of a distributed table
contains the distribution column; a foreign key between two of them contains it on both sides, in the same place; a
reference table refers to no distributed one; triggers of distributed tables have to be allowed. docs/scale.md names the
tables.
"""

import psycopg
import pytest

from tests.integration.db.test_isolation import WITHOUT_ORGANIZATION

REFERENCE = {"api_keys", "chat_connections", "integration_connections", "invitations", "passkeys", "sessions"}
"""Found by a secret or a credential before the organization is known."""
ALLOWED_TRIGGERS = {("approvals", "name_tool"), ("approvals", "move_assignees")}


@pytest.fixture(scope="module")
def server(cluster):
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def distributed(server) -> set[str]:
    rows = server.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relispartition"
    ).fetchall()
    return {name for (name,) in rows} - REFERENCE - WITHOUT_ORGANIZATION


def test_the_distribution_column_is_one_type_that_hashes_alike(server, distributed: set[str]) -> None:
    columns = server.execute(
        "SELECT a.attrelid::regclass::text, a.atttypid::regtype::text, a.attnotnull, l.collisdeterministic"
        " FROM pg_attribute a JOIN pg_collation l ON l.oid = a.attcollation WHERE a.attname = 'org_id'"
        " AND a.attrelid::regclass::text = ANY(%s)",
        [sorted(distributed)],
    ).fetchall()
    assert {(kind, filled, same) for _, kind, filled, same in columns} == {("text", True, True)}
    assert {name for name, *_ in columns} == distributed


def test_every_unique_key_contains_the_organization(server, distributed: set[str]) -> None:
    keys = server.execute(
        "SELECT c.relname, i.indexrelid::regclass::text, EXISTS (SELECT FROM pg_attribute a"
        "  WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1]))"
        " FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique AND c.relname = ANY(%s)",
        [sorted(distributed)],
    ).fetchall()
    assert len(keys) > 60
    assert [(table, key) for table, key, has in keys if not has] == []


def test_every_reference_table_needs_to_be_one(server) -> None:
    """A key of it is unique over all organizations; without one it belongs to the others."""
    tables = server.execute(
        "SELECT DISTINCT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique"
        " AND c.relname = ANY(%s) AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid"
        "  AND a.attname = 'org_id' AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1]))",
        [sorted(REFERENCE)],
    ).fetchall()
    assert {name for (name,) in tables} == REFERENCE


def test_foreign_keys_stay_on_one_node(server, distributed: set[str]) -> None:
    keys = server.execute(
        "SELECT k.conrelid::regclass::text, k.confrelid::regclass::text,"
        " (SELECT array_agg(a.attname ORDER BY n) FROM unnest(k.conkey) WITH ORDINALITY AS c (num, n)"
        "   JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.num),"
        " (SELECT array_agg(a.attname ORDER BY n) FROM unnest(k.confkey) WITH ORDINALITY AS c (num, n)"
        "   JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = c.num)"
        " FROM pg_constraint k WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace"
    ).fetchall()
    assert keys
    for table, other, columns, others in keys:
        assert {table, other} <= distributed, table
        assert ("org_id", "org_id") in zip(columns, others, strict=True), table


def test_nothing_else_that_a_distributed_table_may_not_have(server) -> None:
    exclusions = server.execute("SELECT conname FROM pg_constraint WHERE contype = 'x'").fetchall()
    assert exclusions == []
    triggers = server.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace"
    ).fetchall()
    assert set(triggers) == ALLOWED_TRIGGERS
    narrow = server.execute(
        "SELECT attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE a.attidentity <> '' AND a.atttypid <> 'bigint'::regtype AND c.relnamespace = 'public'::regnamespace"
    ).fetchall()
    assert narrow == []
