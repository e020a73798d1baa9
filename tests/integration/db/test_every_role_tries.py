"""Each role of the database tries to read and change every table: without rights, as another organization, as nobody.

Tables are read from the catalogue, so that a new one cannot be forgotten; each has a row: what is not seen is there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

ROLES = ("api", "proxy", "worker", "auditor", "owner")
OWN, OTHER = "org_own", "org_other"
# What nobody may take back, whoever they are in the organization: the record and what was signed over it.
RECORD = {"audit_chain", "audit_events", "audit_checkpoints", "audit_attestations"}

_VALUES = {
    "bit": "repeat('0', 1024)::bit(1024)", "date": "'2026-11-01'",
    "bytea": "sha256('x')", "text[]": "'{x}'", "boolean": "true", "timestamp with time zone": "'2026-11-01Z'",
    "interval": "'1 day'", "jsonb": "'{}'", "double precision": "1",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Filled:
    """A database in which every table with an organization has a row of ``OTHER``'s, and its address for each role."""

    tables: tuple[Table, ...]
    urls: dict[str, str]


@pytest.fixture(scope="module")
def filled(postgres_server) -> Iterator[Filled]:
    urls = postgres_server.create_database()
    with psycopg.connect(urls.administrator, autocommit=True) as server:
        found = server.execute(
            "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
            " AND a.attgenerated = '' AND a.attidentity = '' AND EXISTS (SELECT FROM pg_attribute o"
            " WHERE o.attrelid = c.oid AND o.attname = 'org_id') ORDER BY c.relname, a.attnum"
        ).fetchall()
        # A row that says nothing sensible breaks most checks and references; isolation depends on neither.
        for table, name in server.execute(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint"
            " WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f') AND coninhcount = 0"
        ).fetchall():
            server.execute(
                sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(sql.Identifier(table), sql.Identifier(name))
            )
        columns: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in found:
            columns.setdefault(table, []).append((column, kind))
        for table, typed in columns.items():
            values = [f"'{OTHER}'" if name == "org_id" else _VALUES.get(kind, "'1'") for name, kind in typed]
            names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in typed)
            server.execute(
                sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                    sql.Identifier(table), names, sql.SQL(", ".join(values))
                )
            )
    tables = tuple(Table(name, tuple(one for one, _ in typed)) for name, typed in columns.items())
    yield Filled(tables, {role: getattr(urls, role) for role in ROLES})
    postgres_server.drop_database(urls.name)


def _attempts(table: Table) -> Iterator[tuple[str, sql.Composed]]:
    name = sql.Identifier(table.name)
    yield "read", sql.SQL("SELECT count(*) FROM {}").format(name)
    for column in table.columns:
        yield f"read {column}", sql.SQL("SELECT {} FROM {}").format(sql.Identifier(column), name)
        yield (
            f"change {column}",
            sql.SQL("UPDATE {} SET {column} = {column}").format(name, column=sql.Identifier(column)),
        )
    yield "take over", sql.SQL("UPDATE {} SET org_id = {}").format(name, OWN)
    yield "delete", sql.SQL("DELETE FROM {}").format(name)
    yield "lock", sql.SQL("SELECT org_id FROM {} FOR UPDATE").format(name)
    yield "put", sql.SQL("INSERT INTO {} (org_id) VALUES ({})").format(name, OTHER)


def _try(connection: psycopg.Connection[tuple[object, ...]], attempt: sql.Composed) -> str:
    """refused | nothing | what it reached."""
    try:
        with connection.transaction(force_rollback=True):
            cursor = connection.execute(attempt)
            rows = [] if cursor.description is None else cursor.fetchall()
            reached = cursor.rowcount if cursor.description is None else len([row for row in rows if row != (0,)])
            return "nothing" if reached == 0 else f"{reached} rows: {rows}"
    except psycopg.errors.InsufficientPrivilege:  # also: the new row violates a policy
        return "refused"
    except psycopg.errors.NotNullViolation:
        return "a row of another organization, but for its other columns"


@pytest.mark.parametrize("acting_as", [OWN, None], ids=["another organization", "no organization"])
@pytest.mark.parametrize("role", ROLES)
def test_no_role_reaches_another_organizations_row(filled: Filled, role: str, acting_as: str | None) -> None:
    assert len(filled.tables) > 45
    reached: dict[str, str] = {}
    with psycopg.connect(filled.urls[role], autocommit=True) as connection:
        assert connection.execute("SELECT current_user").fetchone() == (f"headgate_{role}",)
        if acting_as is not None:
            connection.execute("SELECT set_config('app.org_id', %s, false)", [acting_as])
        for table in filled.tables:
            for what, attempt in _attempts(table):
                found = _try(connection, attempt)
                if found not in ("refused", "nothing"):
                    reached[f"{what} of {table.name}"] = found
    assert reached == {}


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
def test_every_row_is_there_and_each_part_sees_its_own_organizations(filled: Filled, role: str) -> None:
    """Or the test above would be content with empty tables."""
    seen = set()
    with psycopg.connect(filled.urls[role], autocommit=True) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, false)", [OTHER])
        for table in filled.tables:
            found = _try(connection, sql.SQL("SELECT org_id FROM {}").format(sql.Identifier(table.name)))
            if found != "refused":
                assert found == f"1 rows: [('{OTHER}',)]", table.name
                seen.add(table.name)
    assert len(seen) > (5 if role == "proxy" else 30)
    assert ("vault_secrets" in seen, "body_keys" in seen) == (role != "auditor", role in ("api", "worker"))


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
def test_no_part_takes_back_what_was_recorded_in_its_own_organization(filled: Filled, role: str) -> None:
    with psycopg.connect(filled.urls[role], autocommit=True) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, false)", [OTHER])
        for table in filled.tables:
            if table.name in RECORD:
                for what, attempt in _attempts(table):
                    if not what.startswith(("read", "put")):
                        assert _try(connection, attempt) == "refused", f"{what} of {table.name}"
                truncate = sql.SQL("TRUNCATE {}").format(sql.Identifier(table.name))
                assert _try(connection, truncate) == "refused", table.name


def test_whoever_only_reads_changes_nothing(filled: Filled) -> None:
    with psycopg.connect(filled.urls["auditor"], autocommit=True) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, false)", [OTHER])
        for table in filled.tables:
            for what, attempt in _attempts(table):
                if not what.startswith("read"):
                    assert _try(connection, attempt) == "refused", f"{what} of {table.name}"
