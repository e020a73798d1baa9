"""The database server's clock: one for all processes, whatever their own clocks say."""

from datetime import datetime

from headgate.db.database import Connection
from headgate.kernel.errors import UnavailableError


async def server_now(connection: Connection) -> datetime:
    row = await (await connection.execute("SELECT clock_timestamp() AS now")).fetchone()
    if row is None:
        raise UnavailableError("the database returned no time", retry_after_seconds=1)
    now: datetime = row["now"]
    return now
