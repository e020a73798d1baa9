"""The database that a backup is restored into: a new embedded one, or an empty one of the operator's own.

From the first statement to the last a table ``restore_in_progress`` stands in it: no instance starts on such a database
(``db.migrate``), and a restore that was interrupted goes on where it was.
"""

from collections.abc import Iterable
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from headgate.backup.manifest import Manifest
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret

_PARTS: Final = ("headgate_api", "headgate_proxy", "headgate_worker", "headgate_auditor", "headgate_definer")
_MARK: Final = "restore_in_progress"

type _Connection = psycopg.Connection[dict[str, Any]]


class RestoreTarget:
    """A connection for one restore, as the owner of the tables or as a superuser. Use as a context manager."""

    def __init__(self, database: Secret, owner: str) -> None:
        self._database = database
        self._owner = owner

    def __enter__(self) -> "RestoreTarget":
        try:
            self._connection: _Connection = psycopg.connect(
                self._database.reveal(), row_factory=dict_row, connect_timeout=10, autocommit=True
            )
        except psycopg.Error as error:
            raise UnavailableError(f"the database cannot be reached: {str(error).strip()}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def major(self) -> int:
        return self._connection.info.server_version // 10_000

    def prepare(self, manifest: Manifest) -> bool:
        """Marks the database and makes the roles that the dump names. True: the dump is in it already, restored by a
        run that was interrupted. Raises ConflictError, ValidationError, UnavailableError."""
        try:
            self._require_owner()
            self._require_version(manifest)
            self._require_alone()
            is_marked = self._is_there(_MARK)
            if is_marked:
                self._require_same_backup(manifest)
            else:
                self._require_empty()
                self._mark(manifest)
            make_roles(self._connection, self._owner)
            return is_marked and self._is_there("organizations")
        except psycopg.Error as error:
            raise UnavailableError(f"the database cannot be prepared: {str(error).strip()}") from error

    def is_checked(self) -> bool:
        """Whether the dump was found to be the one that the manifest tells of."""
        return bool(self._one("SELECT is_checked FROM restore_in_progress")["is_checked"])

    def mark_checked(self) -> None:
        self._connection.execute("UPDATE restore_in_progress SET is_checked = true")

    def heads(self) -> dict[str, tuple[int, str | None]]:
        """The newest sealed event of each organization, number and hash, as it stands. For a superuser, or the owner:
        row by row in the organization's view."""
        found: dict[str, tuple[int, str | None]] = {}
        for org_id in self._organizations():
            row = self._in_organization(
                org_id,
                "SELECT seq, encode(hash, 'hex') AS hash FROM audit_chain WHERE org_id = %s ORDER BY seq DESC LIMIT 1",
            )
            found[org_id] = (0, None) if row is None else (int(row["seq"]), str(row["hash"]))
        return found

    def is_inspected(self, org_id: str) -> bool:
        """Whether it is an imported record, in which nothing can be written."""
        row = self._in_organization(org_id, "SELECT inspected_since FROM organizations WHERE org_id = %s")
        return row is not None and row["inspected_since"] is not None

    def done(self) -> set[str]:
        """Organizations in whose log the restore is recorded."""
        rows = self._connection.execute("SELECT unnest(done) AS org_id FROM restore_in_progress").fetchall()
        return {str(row["org_id"]) for row in rows}

    def finish(self) -> None:
        """Forgets the processes of before, and unmarks the database: instances may start on it."""
        try:
            self._connection.execute("ANALYZE")
            with self._connection.transaction():
                self._connection.execute("DELETE FROM instances")
                self._connection.execute("DELETE FROM login_attempts")
                self._connection.execute("DROP TABLE restore_in_progress")
        except psycopg.Error as error:
            raise UnavailableError(f"the restore cannot be finished: {str(error).strip()}") from error

    def _organizations(self) -> list[str]:
        rows = self._connection.execute("SELECT org_id FROM organizations_listed(NULL, 2147483647)").fetchall()
        return [str(row["org_id"]) for row in rows]

    def _in_organization(self, org_id: str, question: LiteralString) -> dict[str, Any] | None:
        with self._connection.transaction():
            self._connection.execute("SELECT set_config('app.org_id', %s, true)", [org_id])
            return self._connection.execute(question, [org_id]).fetchone()

    def _require_owner(self) -> None:
        row = self._one("SELECT current_user AS name, rolsuper FROM pg_roles WHERE rolname = current_user")
        if row["name"] != self._owner and not row["rolsuper"]:
            raise ValidationError(
                f"the tables of this backup belong to the role {self._owner}, and this is {row['name']}: restore as"
                f" {self._owner} (HEADGATE_OWNER_DATABASE_URL), which may create roles (CREATEROLE)"
            )

    def _require_version(self, manifest: Manifest) -> None:
        needed = manifest.server_version // 10_000
        if self.major < needed:
            raise ValidationError(
                f"the backup is of PostgreSQL {needed}, and this server is {self.major}: restore into PostgreSQL"
                f" {needed} or later"
            )

    def _require_alone(self) -> None:
        row = self._one(
            "SELECT count(*) AS others FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        if row["others"]:
            raise ConflictError(
                f"{row['others']} other connections to this database are open: stop the instance (and a pooler in front"
                " of it), then restore"
            )

    def _require_empty(self) -> None:
        row = self._one(
            "SELECT count(*) AS tables, min(relname) AS name FROM pg_class WHERE relkind IN ('r', 'p')"
            " AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'queue'))"
        )
        if row["tables"]:
            raise ConflictError(
                f"this database is not empty (it has {row['tables']} tables, {row['name']} is one): a restore"
                " overwrites nothing. Create another database and name it with HEADGATE_DATABASE_URL"
            )

    def _mark(self, manifest: Manifest) -> None:
        with self._connection.transaction():
            self._connection.execute(
                "CREATE TABLE restore_in_progress (backup_id text NOT NULL, done text[] NOT NULL DEFAULT '{}',"
                " is_checked boolean NOT NULL DEFAULT false, started_at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
            self._connection.execute(
                sql.SQL("ALTER TABLE restore_in_progress OWNER TO {}").format(sql.Identifier(self._owner))
            )
            self._connection.execute("INSERT INTO restore_in_progress (backup_id) VALUES (%s)", [manifest.backup_id])

    def _require_same_backup(self, manifest: Manifest) -> None:
        row = self._one("SELECT backup_id FROM restore_in_progress")
        if row["backup_id"] != manifest.backup_id:
            raise ConflictError(
                f"a restore of another backup ({row['backup_id']}) into this database was interrupted: restore that one"
                " again, or take an empty database"
            )

    def _is_there(self, table: str) -> bool:
        return bool(self._one("SELECT to_regclass('public.' || %s) IS NOT NULL AS there", table)["there"])

    def _one(self, question: str, *values: object) -> dict[str, Any]:
        row = self._connection.execute(question.encode(), values).fetchone()
        if row is None:
            raise UnavailableError("the database gave no answer")
        return row


def make_roles(connection: psycopg.Connection[Any], owner: str) -> None:
    """As ``db/schema/01_roles.sql`` does: a dump names roles and does not make them."""
    with connection.transaction():
        connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(owner)))
        for role in _PARTS:
            exists = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone()
            if exists is None:
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN NOBYPASSRLS").format(sql.Identifier(role)))
        connection.execute("GRANT headgate_definer TO CURRENT_USER WITH INHERIT FALSE, SET TRUE")
        # A function can be given to a role that may create in its schema only.
        connection.execute("GRANT USAGE, CREATE ON SCHEMA public TO headgate_definer")


def mark_done(org_id: str) -> tuple[LiteralString, Iterable[str]]:
    """A statement for the transaction that records the restore in an organization's log."""
    return "UPDATE restore_in_progress SET done = done || %s::text", [org_id]
