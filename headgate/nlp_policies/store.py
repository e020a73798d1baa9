"""All SQL of NLP policies. Every function runs inside the caller's transaction of the organization."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from psycopg import sql
from psycopg.rows import DictRow

from headgate.db.bounded_count import count_rows
from headgate.db.database import Connection
from headgate.db.rows import insert_row
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.nlp_policies.document import draft_of, stored_text
from headgate.nlp_policies.model import NlpPolicy

_COLUMNS: Final = "org_id, policy_id, version, document, created_at, updated_at"


class NlpPolicyPage(Struct, frozen=True):
    """One page, oldest first; ``total`` counts all pages."""

    policies: tuple[NlpPolicy, ...]
    total: int
    total_is_minimum: bool


async def insert_nlp_policy(connection: Connection, policy: NlpPolicy, created_by: str | None) -> None:
    """The policy and the row of this version of it, which stays when the policy has gone."""
    row = _content(policy) | {
        "created_by": created_by,
        "created_at": policy.created_at,
        "updated_at": policy.updated_at,
    }
    await insert_row(connection, "nlp_policies", row)
    await _insert_version(connection, policy, created_by)


async def update_nlp_policy(connection: Connection, policy: NlpPolicy, changed_by: str | None) -> None:
    """``policy`` as the next version. Raises ConflictError where somebody else made one meanwhile."""
    cursor = await connection.execute(
        "UPDATE nlp_policies SET version = %s, name = %s, enabled = %s, document = %s, updated_at = %s"
        " WHERE org_id = %s AND policy_id = %s AND version = %s AND deleted_at IS NULL",
        [policy.version, policy.draft.name, policy.draft.enabled, stored_text(policy.draft), policy.updated_at,
         policy.org_id, policy.policy_id, policy.version - 1],
    )  # fmt: skip
    if cursor.rowcount != 1:
        raise ConflictError(f"The content policy {policy.policy_id} has changed in the meantime. Read it again.")
    await _insert_version(connection, policy, changed_by)


async def get_nlp_policy(connection: Connection, org_id: str, policy_id: str) -> NlpPolicy:
    """Raises NotFoundError, for a deleted one too."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM nlp_policies WHERE org_id = %s AND policy_id = %s AND deleted_at IS NULL",  # noqa: S608 - a constant of this file
        [org_id, policy_id],
    )
    return _found(await cursor.fetchone(), policy_id)


async def list_nlp_policies(
    connection: Connection,
    org_id: str,
    *,
    enabled: bool | None = None,
    limit: int = 50,
    offset: int = 0,
    exact_total: bool = False,
) -> NlpPolicyPage:
    source = sql.SQL(
        "nlp_policies WHERE org_id = %(org)s AND deleted_at IS NULL"
        " AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)"
    )
    parameters: dict[str, object] = {"org": org_id, "enabled": enabled}
    total, is_minimum = await count_rows(connection, source, parameters, exact=exact_total)
    page = sql.SQL("SELECT {} FROM {} ORDER BY policy_id LIMIT %(limit)s OFFSET %(offset)s")
    cursor = await connection.execute(
        page.format(sql.SQL(_COLUMNS), source), {**parameters, "limit": limit, "offset": offset}
    )
    return NlpPolicyPage(tuple(_policy(row) for row in await cursor.fetchall()), total, is_minimum)


async def load_enabled_nlp(connection: Connection, org_id: str) -> list[NlpPolicy]:
    """What is asked about calls."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM nlp_policies WHERE org_id = %s AND enabled AND deleted_at IS NULL ORDER BY policy_id",  # noqa: S608 - a constant of this file
        [org_id],
    )
    return [_policy(row) for row in await cursor.fetchall()]


async def nlp_policy_names(connection: Connection, org_id: str, policy_ids: Collection[str]) -> dict[str, str]:
    """By id, of deleted policies too; without those that are not there."""
    cursor = await connection.execute(
        "SELECT policy_id, name FROM nlp_policies WHERE org_id = %s AND policy_id = ANY(%s)", [org_id, list(policy_ids)]
    )
    return {row["policy_id"]: row["name"] for row in await cursor.fetchall()}


async def count_nlp_policies(connection: Connection, org_id: str, *, deleted_too: bool = False) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS total FROM nlp_policies WHERE org_id = %s AND (%s OR deleted_at IS NULL)",
        [org_id, deleted_too],
    )
    row = await cursor.fetchone()
    return int(row["total"]) if row is not None else 0


async def mark_nlp_policy_deleted(connection: Connection, org_id: str, policy_id: str) -> NlpPolicy:
    """It judges no more; its versions stay for the decisions that name them. Raises NotFoundError."""
    cursor = await connection.execute(
        "UPDATE nlp_policies SET deleted_at = clock_timestamp(), updated_at = clock_timestamp()"  # noqa: S608 - a constant of this file
        f" WHERE org_id = %s AND policy_id = %s AND deleted_at IS NULL RETURNING {_COLUMNS}",
        [org_id, policy_id],
    )
    return _found(await cursor.fetchone(), policy_id)


async def _insert_version(connection: Connection, policy: NlpPolicy, created_by: str | None) -> None:
    row = _content(policy) | {"created_by": created_by, "created_at": policy.updated_at}
    await insert_row(connection, "nlp_policy_versions", row)


def _content(policy: NlpPolicy) -> dict[str, object]:
    """What a policy and each of its versions have, by column."""
    draft = policy.draft
    return {
        "org_id": policy.org_id,
        "policy_id": policy.policy_id,
        "version": policy.version,
        "name": draft.name,
        "enabled": draft.enabled,
        "document": stored_text(draft),
    }


def _found(row: DictRow | None, policy_id: str) -> NlpPolicy:
    if row is None:
        raise NotFoundError(f"no content policy {policy_id}")
    return _policy(row)


def _policy(row: DictRow) -> NlpPolicy:
    return NlpPolicy(
        org_id=row["org_id"],
        policy_id=row["policy_id"],
        version=row["version"],
        draft=draft_of(row["document"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
