"""What was set before, of the settings that keep their versions: their SQL."""

from collections.abc import Sequence

from psycopg import sql

from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.organizations.model import Setting, SettingName


async def keep_version(connection: Connection, org_id: str, setting: Setting) -> None:
    await connection.execute(
        "INSERT INTO setting_versions (org_id, name, version, document, updated_by, updated_at)"
        " VALUES (%s, %s, %s, %s, %s, %s)",
        [org_id, setting.name.value, setting.version, setting.document, setting.updated_by, setting.updated_at],
    )


async def list_versions(
    connection: Connection, org_id: str, name: SettingName, *, limit: int, offset: int, exact_total: bool = False
) -> tuple[Sequence[Setting], BoundedCount]:
    """Newest first, and how many there are."""
    cursor = await connection.execute(
        "SELECT version, document, updated_by, updated_at FROM setting_versions WHERE org_id = %s AND name = %s"
        " ORDER BY version DESC LIMIT %s OFFSET %s",
        [org_id, name.value, limit, offset],
    )
    found = [Setting(name, **row) for row in await cursor.fetchall()]
    source = sql.SQL("setting_versions WHERE org_id = %(org)s AND name = %(name)s")
    return found, await count_rows(connection, source, {"org": org_id, "name": name.value}, exact=exact_total)
