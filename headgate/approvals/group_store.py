"""Approver groups in the database, and their members."""

from collections.abc import Iterable, Mapping
from typing import Final

from psycopg.rows import DictRow

from headgate.approvals.groups import ApproverGroup
from headgate.db.database import Connection
from headgate.organizations.mail_addresses import lower_ascii

_COLUMNS: Final = "name, description, members, version, created_at, updated_at"


async def insert_group(connection: Connection, org_id: str, group: ApproverGroup) -> bool:
    """Inserts the group; returns False if the name exists."""
    cursor = await connection.execute(
        f"INSERT INTO approver_groups (org_id, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",  # noqa: S608 - a constant of this file
        [
            org_id,
            group.name,
            group.description,
            list(group.members),
            group.version,
            group.created_at,
            group.updated_at,
        ],
    )
    return cursor.rowcount == 1


async def lock_group(connection: Connection, org_id: str, name: str) -> ApproverGroup | None:
    """The group, locked until the transaction ends."""
    return await _one(connection, org_id, name, " FOR UPDATE")


async def find_group(connection: Connection, org_id: str, name: str) -> ApproverGroup | None:
    return await _one(connection, org_id, name, "")


async def _one(connection: Connection, org_id: str, name: str, lock: str) -> ApproverGroup | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM approver_groups WHERE org_id = %s AND name = %s" + lock,  # noqa: S608 - constants of this file
        [org_id, name],
    )
    row = await cursor.fetchone()
    return None if row is None else _group(row)


async def save_group(connection: Connection, org_id: str, group: ApproverGroup) -> None:
    """Writes the next version; the caller holds the row's lock."""
    await connection.execute(
        "UPDATE approver_groups SET description = %s, members = %s, version = %s, updated_at = %s"
        " WHERE org_id = %s AND name = %s",
        [group.description, list(group.members), group.version, group.updated_at, org_id, group.name],
    )


async def delete_group(connection: Connection, org_id: str, name: str) -> None:
    await connection.execute("DELETE FROM approver_groups WHERE org_id = %s AND name = %s", [org_id, name])


async def list_groups(
    connection: Connection, org_id: str, *, limit: int, offset: int
) -> tuple[list[ApproverGroup], int]:
    """Lists groups by name, with the total (organizations have few)."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM approver_groups WHERE org_id = %s ORDER BY name LIMIT %s OFFSET %s",  # noqa: S608 - a constant of this file
        [org_id, limit, offset],
    )
    return [_group(row) for row in await cursor.fetchall()], await count_groups(connection, org_id)


async def count_groups(connection: Connection, org_id: str) -> int:
    cursor = await connection.execute("SELECT count(*) AS total FROM approver_groups WHERE org_id = %s", [org_id])
    row = await cursor.fetchone()
    return 0 if row is None else int(row["total"])


async def groups_of(connection: Connection, org_id: str, user_id: str, email: str | None) -> frozenset[str]:
    """The groups that contain this person now, by user id or e-mail address."""
    return (await groups_by_user(connection, org_id, {user_id: email}))[user_id]


async def groups_by_user(
    connection: Connection, org_id: str, emails: Mapping[str, str | None]
) -> dict[str, frozenset[str]]:
    """``groups_of`` for several users; ``emails`` is by user id."""
    known_as = {
        user_id: {lower_ascii(one) for one in (user_id, email) if one is not None} for user_id, email in emails.items()
    }
    cursor = await connection.execute(
        "SELECT name, members FROM approver_groups WHERE org_id = %s AND members && %s::text[]",
        [org_id, list(set().union(*known_as.values()))],
    )
    groups = [(row["name"], set(row["members"])) for row in await cursor.fetchall()]
    return {
        user_id: frozenset(group for group, members in groups if not members.isdisjoint(names))
        for user_id, names in known_as.items()
    }


async def missing_groups(connection: Connection, org_id: str, names: Iterable[str]) -> list[str]:
    """Those of these groups that do not exist."""
    wanted = set(names)
    cursor = await connection.execute(
        "SELECT name FROM approver_groups WHERE org_id = %s AND name = ANY (%s)", [org_id, sorted(wanted)]
    )
    return sorted(wanted - {row["name"] for row in await cursor.fetchall()})


def _group(row: DictRow) -> ApproverGroup:
    return ApproverGroup(
        name=row["name"],
        description=row["description"],
        members=tuple(row["members"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
