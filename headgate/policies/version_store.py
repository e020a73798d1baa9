"""All SQL of a policy's versions: rows are added and read, never changed (no role has the right)."""

import json

from psycopg.rows import DictRow

from headgate.audit.model import Actor, ActorType
from headgate.db.bounded_count import BoundedCount
from headgate.db.database import Connection
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import NotFoundError
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.versions import PolicyVersion, VersionChange

_COLUMNS = (
    "v.org_id, v.policy_id, v.version, v.name, v.description, v.rego_policy, v.enabled, v.priority, v.mode, v.rules,"
    " v.change, v.note, v.actor, v.restored_from, v.created_at AS changed_at, p.created_at"
)
_FROM = "policy_versions v JOIN policies p ON p.org_id = v.org_id AND p.policy_id = v.policy_id"


async def insert_version(connection: Connection, org_id: str, version: PolicyVersion, created_by: str | None) -> None:
    policy = version.policy
    await connection.execute(
        "INSERT INTO policy_versions (org_id, policy_id, version, name, description, rego_policy, enabled, priority,"
        " mode, rules, change, note, actor, restored_from, created_by, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            org_id,
            policy.policy_id,
            policy.version,
            policy.name,
            policy.description,
            policy.rego_policy,
            policy.enabled,
            policy.priority,
            policy.mode.value,
            policy.rules,
            version.change.value,
            version.note,
            None if version.actor is None else actor_json(version.actor),
            version.restored_from,
            created_by,
            policy.updated_at,
        ],
    )


async def get_version(connection: Connection, org_id: str, policy_id: str, version: int) -> PolicyVersion:
    """Of a deleted policy too. Raises NotFoundError."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE v.org_id = %s AND v.policy_id = %s AND v.version = %s",  # noqa: S608 - constants of this file
        [org_id, policy_id, version],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"policy {policy_id} has no version {version}")
    return _version(row)


async def list_versions(
    connection: Connection, org_id: str, policy_id: str, *, limit: int, offset: int
) -> tuple[list[PolicyVersion], BoundedCount]:
    """Newest first, of a deleted policy too. Raises NotFoundError where there never was such a policy."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE v.org_id = %s AND v.policy_id = %s"  # noqa: S608 - constants of this file
        " ORDER BY v.version DESC LIMIT %s OFFSET %s",
        [org_id, policy_id, limit, offset],
    )
    versions = [_version(row) for row in await cursor.fetchall()]
    newest = await connection.execute(
        "SELECT count(*) AS total FROM policy_versions WHERE org_id = %s AND policy_id = %s", [org_id, policy_id]
    )
    row = await newest.fetchone()
    total = 0 if row is None else int(row["total"])
    if total == 0:
        raise NotFoundError(f"there is no policy {policy_id}")
    return versions, BoundedCount(total, is_minimum=False)


def actor_json(actor: Actor) -> str:
    """An actor as it is kept with what they changed."""
    named = {} if actor.name is None else {"name": actor.name}
    return canonical_bytes({"type": actor.type.value, "id": actor.id, **named}).decode()


def actor_of(text: str | None) -> Actor | None:
    if text is None:
        return None
    document = json.loads(text)
    return Actor(ActorType(document["type"]), document["id"], document.get("name"))


def _version(row: DictRow) -> PolicyVersion:
    policy = RulePolicy(
        policy_id=row["policy_id"],
        version=row["version"],
        name=row["name"],
        description=row["description"],
        rego_policy=row["rego_policy"],
        enabled=row["enabled"],
        priority=row["priority"],
        quarantine=None,
        created_at=row["created_at"],
        updated_at=row["changed_at"],
        org_id=row["org_id"],
        mode=PolicyMode(row["mode"]),
        rules=row["rules"],
    )
    return PolicyVersion(
        policy, VersionChange(row["change"]), row["note"], actor_of(row["actor"]), row["restored_from"]
    )
