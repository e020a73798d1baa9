"""The roles of the embedded database: the owner before the schema is made, the passwords of the parts after."""

from typing import Final

import psycopg
from psycopg import sql

from headgate.db.migrate import migrate
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.postgres import DATABASE, SUPERUSER, PostgresServer
from headgate.runtime.secrets_file import InstanceSecrets

OWNER: Final = "headgate_owner"
PARTS: Final = ("headgate_api", "headgate_proxy", "headgate_worker", "headgate_auditor")
"""The schema makes them without a right to log in. This module gives it, with a password."""

type _Connection = psycopg.AsyncConnection[tuple[object, ...]]


async def prepare_database(server: PostgresServer, secrets: InstanceSecrets, database: str = DATABASE) -> list[str]:
    """Makes owner, database, schema and logins where they are missing. Returns what ``migrate`` applied.

    Raises UnavailableError.
    """
    try:
        async with await _log_in(server, secrets.passwords[SUPERUSER]) as connection:
            await _ensure_owner(connection, secrets.passwords[OWNER], database)
            applied = await migrate(server.url(OWNER, secrets.passwords[OWNER], database).reveal())
            for role in PARTS:
                await _let_in(connection, role, secrets.passwords[role])
        return applied
    except psycopg.Error as error:
        raise UnavailableError(f"the database's roles could not be made: {str(error).strip()}") from error


async def ensure_database(server: PostgresServer, secrets: InstanceSecrets, database: str = DATABASE) -> None:
    """Makes the owner and an empty database where they are missing. Raises UnavailableError."""
    try:
        async with await _log_in(server, secrets.passwords[SUPERUSER]) as connection:
            await _ensure_owner(connection, secrets.passwords[OWNER], database)
    except psycopg.Error as error:
        raise UnavailableError(f"the database could not be made: {str(error).strip()}") from error


async def check_password(server: PostgresServer, password: Secret) -> None:
    """Logs in as the superuser. Raises UnavailableError: with another password, too."""
    try:
        await (await _log_in(server, password)).close()
    except psycopg.Error as error:
        raise UnavailableError(f"the database cannot be reached: {str(error).strip()}") from error


async def _log_in(server: PostgresServer, password: Secret) -> _Connection:
    """As the superuser. Raises UnavailableError if the server refuses the password, psycopg.Error otherwise."""
    administrator = server.url(SUPERUSER, password, "postgres").reveal()
    try:
        return await psycopg.AsyncConnection.connect(administrator, autocommit=True)
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            raise UnavailableError(
                f"the database in {server.folder} has another password than the secrets file: restore the file"
            ) from error
        raise


async def _ensure_owner(connection: _Connection, password: Secret, database: str) -> None:
    """No superuser, no BYPASSRLS; CREATEROLE, as the schema makes the roles of the parts."""
    if not await _exists(connection, "SELECT FROM pg_roles WHERE rolname = %s", OWNER):
        await connection.execute(
            sql.SQL("CREATE ROLE {} NOSUPERUSER NOBYPASSRLS CREATEROLE").format(sql.Identifier(OWNER))
        )
    await _let_in(connection, OWNER, password)
    if not await _exists(connection, "SELECT FROM pg_database WHERE datname = %s", database):
        await connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), sql.Identifier(OWNER))
        )


async def _let_in(connection: _Connection, role: str, password: Secret) -> None:
    # The verifier is computed here (RFC 5802), so that no statement, and thus no log, holds the password.
    verifier = connection.pgconn.encrypt_password(password.reveal().encode(), role.encode(), b"scram-sha-256").decode()
    statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
    await connection.execute(statement)


async def _exists(connection: _Connection, question: str, name: str) -> bool:
    cursor = await connection.execute(question.encode(), [name])
    return await cursor.fetchone() is not None
