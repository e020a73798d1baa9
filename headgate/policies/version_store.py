"""All SQL of a policy's versions: rows are added and read, never changed (no role has the right)."""

import json
from collections.abc import Collection

from psycopg import sql
from psycopg.rows import DictRow

from headgate.audit.model import Actor, ActorType
from headgate.db.bounded_count import BoundedCount, count_rows
from headgate.db.database import Connection
from headgate.db.rows import insert_row
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import NotFoundError
from headgate.policies.content_columns import CONTENT, content_of, policy_of
from headgate.policies.versions import PolicyVersion, VersionChange

_COLUMNS = (
    ", ".join(f"v.{column}" for column in CONTENT)
    + ", v.change, v.note, v.actor, v.restored_from, v.created_at AS changed_at, p.created_at"
)
_FROM = "policy_versions v JOIN policies p ON p.org_id = v.org_id AND p.policy_id = v.policy_id"


async def insert_version(connection: Connection, org_id: str, version: PolicyVersion, created_by: str | None) -> None:
    row = content_of(org_id, version.policy) | {
        "change": version.change.value,
        "note": version.note,
        "actor": None if version.actor is None else actor_json(version.actor),
        "restored_from": version.restored_from,
        "created_by": created_by,
        "created_at": version.policy.updated_at,
    }
    await insert_row(connection, "policy_versions", row)


async def get_version(connection: Connection, org_id: str, policy_id: str, version: int) -> PolicyVersion:
    """Also of a deleted policy. Raises NotFoundError."""
    found = (await find_versions(connection, org_id, [(policy_id, version)])).get((policy_id, version))
    if found is None:
        raise NotFoundError(f"policy {policy_id} has no version {version}")
    return found


async def find_versions(
    connection: Connection, org_id: str, wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], PolicyVersion]:
    """By policy and version, those that there are; also of deleted policies."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE v.org_id = %s"  # noqa: S608 - constants of this file
        " AND (v.policy_id, v.version) IN (SELECT * FROM unnest(%s::text[], %s::integer[]))",
        [org_id, [policy_id for policy_id, _ in wanted], [version for _, version in wanted]],
    )
    found = [_version(row) for row in await cursor.fetchall()]
    return {(one.policy.policy_id, one.policy.version): one for one in found}


async def author_of(connection: Connection, org_id: str, policy_id: str, version: int) -> str | None:
    """The user who saved this version; None: no user (seeded, or saved with a key without a user)."""
    cursor = await connection.execute(
        "SELECT created_by FROM policy_versions WHERE org_id = %s AND policy_id = %s AND version = %s",
        [org_id, policy_id, version],
    )
    row = await cursor.fetchone()
    return None if row is None else row["created_by"]


async def list_versions(
    connection: Connection, org_id: str, policy_id: str, *, limit: int, offset: int, exact_total: bool = False
) -> tuple[list[PolicyVersion], BoundedCount]:
    """Newest first, also of a deleted policy. Raises NotFoundError if the policy never existed."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE v.org_id = %s AND v.policy_id = %s"  # noqa: S608 - constants of this file
        " ORDER BY v.version DESC LIMIT %s OFFSET %s",
        [org_id, policy_id, limit, offset],
    )
    versions = [_version(row) for row in await cursor.fetchall()]
    source = sql.SQL("policy_versions WHERE org_id = %(org)s AND policy_id = %(policy)s")
    counted = await count_rows(connection, source, {"org": org_id, "policy": policy_id}, exact=exact_total)
    if counted.total == 0:
        raise NotFoundError(f"there is no policy {policy_id}")
    return versions, counted


def actor_json(actor: Actor) -> str:
    """The stored form of an actor, beside their change."""
    named = {} if actor.name is None else {"name": actor.name}
    return canonical_bytes({"type": actor.type.value, "id": actor.id, **named}).decode()


def actor_of(text: str | None) -> Actor | None:
    if text is None:
        return None
    document = json.loads(text)
    return Actor(ActorType(document["type"]), document["id"], document.get("name"))


def _version(row: DictRow) -> PolicyVersion:
    policy = policy_of(row, quarantine=None, updated_at=row["changed_at"])
    return PolicyVersion(
        policy, VersionChange(row["change"]), row["note"], actor_of(row["actor"]), row["restored_from"]
    )
