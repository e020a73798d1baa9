"""Connections and transactions. Every transaction belongs to one organization, or says that it belongs to none.

Third-party exceptions end here: what a caller sees is UnavailableError (the server is out of reach, too slow,
or refuses) or what it asked for itself. Constraint violations pass through as ConstraintError for stores to name.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from headgate.kernel.errors import ConflictError, HeadgateError, UnavailableError
from headgate.kernel.secrets import Secret

type Connection = psycopg.AsyncConnection[DictRow]


class ConstraintError(ConflictError):
    """A row breaks a constraint; ``details.constraint`` names it."""


class Database:
    """A pool of connections, each logged in as this part's own role.

    ``max_connections`` bounds what this process takes from the server; ``timeout_seconds`` is how long a
    caller waits for a connection and a statement for its answer before UnavailableError.
    """

    def __init__(self, dsn: Secret, *, max_connections: int = 8, timeout_seconds: float = 5.0) -> None:
        self._timeout_seconds = timeout_seconds
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn.reveal(),
            min_size=1,
            max_size=max_connections,
            timeout=timeout_seconds,
            open=False,
            kwargs={"row_factory": dict_row, "connect_timeout": max(2, int(timeout_seconds))},
            # A connection that died while it was idle is replaced before a caller gets it.
            check=AsyncConnectionPool.check_connection,
        )

    async def open(self) -> None:
        """Start connecting; does not wait for the server (the health routes tell whether it is there)."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, org_id: str) -> AsyncIterator[Connection]:
        """A transaction that sees this organization's rows only (row-level security); commits at the end."""
        async with self._connection() as connection:
            # Both settings last as long as the transaction, so that a transaction pooler carries nothing over.
            await connection.execute(
                "SELECT set_config('app.org_id', %s, true), set_config('statement_timeout', %s, true)",
                [org_id, str(int(self._timeout_seconds * 1000))],
            )
            yield connection

    @asynccontextmanager
    async def across_organizations(self) -> AsyncIterator[Connection]:
        """A transaction for the definer functions, which alone reach across; tables look empty in it."""
        async with self._connection() as connection:
            yield connection

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        try:
            async with self._pool.connection() as connection, connection.transaction():
                yield connection
        except HeadgateError:
            raise
        except psycopg.errors.IntegrityError as error:
            constraint = error.diag.constraint_name or "unknown"
            raise ConstraintError(f"a row breaks {constraint}", details={"constraint": constraint}) from error
        except (psycopg.Error, PoolTimeout) as error:
            raise UnavailableError(
                "the database is out of reach or too slow: nothing was changed; try again", retry_after_seconds=1
            ) from error
