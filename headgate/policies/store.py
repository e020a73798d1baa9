"""All SQL of rule policies. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.db.rows import insert_row, update_row
from headgate.kernel.errors import NotFoundError
from headgate.policies.content_columns import CONTENT, content_of, policy_of
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.version_store import insert_version
from headgate.policies.versions import PolicyVersion, VersionChange

_COLUMNS: Final = ", ".join((*CONTENT, "quarantine", "created_at", "updated_at"))


class PolicyFilter(Struct, frozen=True):
    """What to list; None means any. ``name`` is a part of the name, whatever its case."""

    enabled: bool | None = None
    name: str | None = None
    mode: PolicyMode | None = None
    priority: int | None = None
    quarantined: bool | None = None


class PolicyPage(Struct, frozen=True):
    """One page in the order of evaluation; ``total`` counts all pages."""

    policies: tuple[RulePolicy, ...]
    total: int
    total_is_minimum: bool


async def insert_policy(
    connection: Connection,
    org_id: str,
    policy: RulePolicy,
    created_by: str | None,
    version: PolicyVersion | None = None,
) -> None:
    """The policy and the row of this version of it, which stays when the policy has gone."""
    row = content_of(org_id, policy) | {
        "created_by": created_by,
        "created_at": policy.created_at,
        "updated_at": policy.updated_at,
    }
    await insert_row(connection, "policies", row)
    first = version or PolicyVersion(policy, VersionChange.CREATED, None, None, None)
    await insert_version(connection, org_id, first, created_by)


async def save_version(connection: Connection, org_id: str, version: PolicyVersion, changed_by: str | None) -> None:
    """Makes this version current and stores it as a version. The caller holds the policy's lock (``lock_policy``)."""
    policy = version.policy
    row = content_of(org_id, policy) | {
        "quarantine": policy.quarantine,
        "updated_at": policy.updated_at,
        "deleted_at": policy.updated_at if version.change is VersionChange.DELETED else None,
    }
    await update_row(connection, "policies", row, key=("org_id", "policy_id"))
    await insert_version(connection, org_id, version, changed_by)


async def lock_policy(
    connection: Connection, org_id: str, policy_id: str, *, deleted_too: bool = False
) -> tuple[RulePolicy, bool]:
    """Locks the policy and returns it, with whether it is deleted.

    Call it before raising the organization's generation, so that all transactions lock in one order. Raises
    NotFoundError.
    """
    cursor = await connection.execute(
        f"SELECT {_COLUMNS}, deleted_at FROM policies WHERE org_id = %s AND policy_id = %s"  # noqa: S608 - a constant of this file
        " AND (deleted_at IS NULL OR %s) FOR UPDATE",
        [org_id, policy_id, deleted_too],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no policy {policy_id}")
    return _policy(row), row["deleted_at"] is not None


async def get_policy(connection: Connection, org_id: str, policy_id: str) -> RulePolicy:
    """Raises NotFoundError, also for a deleted policy."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM policies WHERE org_id = %s AND policy_id = %s AND deleted_at IS NULL",  # noqa: S608 - a constant of this file
        [org_id, policy_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"there is no policy {policy_id}")
    return _policy(row)


async def list_policies(
    connection: Connection,
    org_id: str,
    wanted: PolicyFilter,
    *,
    limit: int = 50,
    offset: int = 0,
    exact_total: bool = False,
) -> PolicyPage:
    """In the order of evaluation: by priority, then by age."""
    source = sql.SQL(
        "policies WHERE org_id = %(org)s AND deleted_at IS NULL"
        " AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)"
        " AND (%(name)s::text IS NULL OR strpos(lower(name), lower(%(name)s)) > 0)"
        " AND (%(mode)s::text IS NULL OR mode = %(mode)s)"
        " AND (%(priority)s::integer IS NULL OR priority = %(priority)s)"
        " AND (%(quarantined)s::boolean IS NULL OR (quarantine IS NOT NULL) = %(quarantined)s)"
    )
    parameters = {
        "org": org_id,
        "enabled": wanted.enabled,
        "name": wanted.name,
        "mode": None if wanted.mode is None else wanted.mode.value,
        "priority": wanted.priority,
        "quarantined": wanted.quarantined,
    }
    total, is_minimum = await count_rows(connection, source, parameters, exact=exact_total)
    page = sql.SQL("SELECT {} FROM {} ORDER BY priority, policy_id LIMIT %(limit)s OFFSET %(offset)s")
    cursor = await connection.execute(
        page.format(sql.SQL(_COLUMNS), source), {**parameters, "limit": limit, "offset": offset}
    )
    policies = tuple(_policy(row) for row in await cursor.fetchall())
    return PolicyPage(policies, total, is_minimum)


async def load_enabled(connection: Connection, org_id: str) -> list[RulePolicy]:
    """All enabled policies, including shadow policies and quarantined ones (which deny)."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM policies WHERE org_id = %s AND enabled AND deleted_at IS NULL"  # noqa: S608 - a constant of this file
        " ORDER BY priority, policy_id",
        [org_id],
    )
    return [_policy(row) for row in await cursor.fetchall()]


async def policy_names(connection: Connection, org_id: str, policy_ids: Collection[str]) -> dict[str, str]:
    """By id, of deleted policies too; without those that are not there."""
    cursor = await connection.execute(
        "SELECT policy_id, name FROM policies WHERE org_id = %s AND policy_id = ANY(%s)", [org_id, list(policy_ids)]
    )
    return {row["policy_id"]: row["name"] for row in await cursor.fetchall()}


async def count_policies(connection: Connection, org_id: str, *, deleted_too: bool = False) -> int:
    """The number of policies; ``deleted_too``: including deleted ones."""
    cursor = await connection.execute(
        "SELECT count(*) AS total FROM policies WHERE org_id = %s AND (deleted_at IS NULL OR %s)", [org_id, deleted_too]
    )
    row = await cursor.fetchone()
    return int(row["total"]) if row is not None else 0


def _policy(row: DictRow) -> RulePolicy:
    return policy_of(row, quarantine=row["quarantine"], updated_at=row["updated_at"])
