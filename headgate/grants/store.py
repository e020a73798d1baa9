"""Grants in the database. They are claimed by ``use_exemption`` (headgate.approvals.exemption_store)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, LiteralString

from msgspec import Struct
from msgspec.structs import replace
from psycopg import sql

from headgate.approvals.agent_owner_store import owners_of, parties_of_agent
from headgate.approvals.group_store import groups_by_user
from headgate.approvals.standing import NO_OWNER, Parties, parties_among
from headgate.db.bounded_count import Shown, count_list
from headgate.db.database import Connection
from headgate.db.rows import insert_row
from headgate.grants.model import Grant, Granter, GrantStatus, granter_now, one_of_each_person
from headgate.grants.stored_form import grant_of, granters_text, scope_record
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import NotFoundError
from headgate.organizations.store import find_users, persons_of

_COLUMNS: Final = sql.SQL(
    "g.org_id, g.grant_id, g.agent_id, g.tool, g.operation, g.scope, g.policy_ids, g.granters, g.max_uses, g.uses,"
    " g.sum_param, g.max_sum, g.used_sum, g.reason, g.approval_id, g.created_at, g.expires_at, g.revoked_at,"
    " g.revoked_by, g.revoke_reason"
)
# Of the statement, not of each row: only so is the end looked for by its index.
_STATUS: Final = {
    GrantStatus.ACTIVE: "g.revoked_at IS NULL AND g.expires_at > statement_timestamp() AND NOT g.exhausted",
    GrantStatus.EXHAUSTED: "g.revoked_at IS NULL AND g.expires_at > statement_timestamp() AND g.exhausted",
    GrantStatus.EXPIRED: "g.revoked_at IS NULL AND g.expires_at <= statement_timestamp()",
    GrantStatus.REVOKED: "g.revoked_at IS NOT NULL",
}


class GrantFilter(Struct, frozen=True):
    """What to list; None means any."""

    status: GrantStatus | None = None
    agent_id: str | None = None
    tool: str | None = None
    operation: str | None = None


class GrantPage(Struct, frozen=True):
    """One page, newest first."""

    grants: Sequence[Grant]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


class GrantUse(Struct, frozen=True):
    """One use. ``given_back_at``: nothing was sent, and it does not count any more."""

    action_id: str
    execution_id: str | None
    amount: Decimal
    used_at: datetime
    given_back_at: datetime | None


async def insert_grant(connection: Connection, grant: Grant) -> None:
    row: dict[str, object] = {
        "org_id": grant.org_id,
        "grant_id": grant.grant_id,
        "agent_id": grant.agent_id,
        "tool": grant.tool,
        "operation": grant.operation,
        "scope": canonical_bytes(scope_record(grant.scope)).decode(),
        "policy_ids": sorted(grant.policy_ids),
        "granters": granters_text(grant.granters),
        "max_uses": grant.max_uses,
        "sum_param": grant.scope.sum_param,
        "max_sum": grant.max_sum,
        "reason": grant.reason,
        "approval_id": grant.approval_id,
        "created_at": grant.created_at,
        "expires_at": grant.expires_at,
    }
    await insert_row(connection, "grants", row)


async def find_grant(connection: Connection, org_id: str, grant_id: str, *, lock: bool = False) -> Grant:
    """Raises NotFoundError."""
    query = sql.SQL("SELECT {} FROM grants g WHERE g.org_id = %s AND g.grant_id = %s {}").format(
        _COLUMNS, sql.SQL("FOR UPDATE" if lock else "")
    )
    row = await (await connection.execute(query, [org_id, grant_id])).fetchone()
    if row is None:
        raise NotFoundError(f"there is no grant {grant_id}")
    return grant_of(row)


async def grants_in_force(connection: Connection, org_id: str) -> list[Grant]:
    """What a process keeps in memory: those that may let something through, with the people who count now, and with
    the standing that they have now (``granter_now``)."""
    query = sql.SQL("SELECT {} FROM grants g WHERE g.org_id = %s AND {}").format(
        _COLUMNS, sql.SQL(_STATUS[GrantStatus.ACTIVE])
    )
    grants = [grant_of(row) for row in await (await connection.execute(query, [org_id])).fetchall()]
    return await _with_people(connection, org_id, grants) if grants else []


async def _with_people(connection: Connection, org_id: str, grants: Sequence[Grant]) -> list[Grant]:
    users = await find_users(connection, org_id, {granter.voter_id for one in grants for granter in one.granters})
    emails = {user.user_id: user.email for user in users.values()}
    groups = await groups_by_user(connection, org_id, emails)

    def of_now(granters: Sequence[Granter]) -> list[Granter]:
        found = [(one, users[one.voter_id], groups[one.voter_id]) for one in granters if one.voter_id in users]
        return [now for granter, user, own in found if (now := granter_now(granter, user, own)) is not None]

    owners = await owners_of(connection, org_id, {one.agent_id for one in grants})
    authors = await _authors(connection, org_id, {policy_id for one in grants for policy_id in one.policy_ids})
    named = {granter.voter_id for one in grants for granter in one.granters}.union(
        *(owner.users for owner in owners.values()), (user_id for user_id in authors.values() if user_id is not None)
    )
    persons = await persons_of(connection, org_id, named)
    return [
        replace(
            one,
            granters=one_of_each_person(of_now(one.granters), persons),
            parties=parties_among(persons, owners.get(one.agent_id, NO_OWNER), authors),
        )
        for one in grants
    ]


async def parties_of(connection: Connection, org_id: str, agent_id: str, policy_ids: Iterable[str]) -> Parties:
    """The people whom separation of duties may bar from granting this agent's calls, now."""
    return await parties_of_agent(connection, org_id, agent_id, await _authors(connection, org_id, policy_ids))


async def _authors(connection: Connection, org_id: str, policy_ids: Iterable[str]) -> dict[str, str | None]:
    """Of the versions of now."""
    return await _text_by_id(
        connection,
        "SELECT v.policy_id AS id, v.created_by AS value FROM policies p JOIN policy_versions v"
        " ON v.org_id = p.org_id AND v.policy_id = p.policy_id AND v.version = p.version"
        " WHERE p.org_id = %s AND p.policy_id = ANY (%s)",
        [org_id, list(policy_ids)],
    )


async def _text_by_id(connection: Connection, query: LiteralString, values: Sequence[object]) -> dict[str, str | None]:
    return {row["id"]: row["value"] for row in await (await connection.execute(query, values)).fetchall()}


async def count_in_force(connection: Connection, org_id: str) -> int:
    query = sql.SQL("SELECT count(*) AS grants FROM grants g WHERE g.org_id = %s AND {}").format(
        sql.SQL(_STATUS[GrantStatus.ACTIVE])
    )
    row = await (await connection.execute(query, [org_id])).fetchone()
    return 0 if row is None else int(row["grants"])


async def grant_used_by(connection: Connection, org_id: str, action_id: str) -> Grant | None:
    """The grant that let this action through, with the people who count now; None: none did, or its use was given
    back."""
    query = sql.SQL(
        "SELECT {} FROM grant_uses u JOIN grants g ON g.org_id = u.org_id AND g.grant_id = u.grant_id"
        " WHERE u.org_id = %s AND u.action_id = %s AND u.given_back_at IS NULL"
    ).format(_COLUMNS)
    row = await (await connection.execute(query, [org_id, action_id])).fetchone()
    return None if row is None else (await _with_people(connection, org_id, [grant_of(row)]))[0]


async def list_grants(
    connection: Connection,
    org_id: str,
    wanted: GrantFilter,
    *,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> GrantPage:
    """Newest first. ``cursor`` is the id of the last grant already seen."""
    parts, values = ["g.org_id = %(org)s"], {"org": org_id}
    if wanted.status is not None:
        parts.append(_STATUS[wanted.status])
    for name, value in (("agent_id", wanted.agent_id), ("tool", wanted.tool), ("operation", wanted.operation)):
        if value is not None:
            parts.append(f"g.{name} = %({name})s")
            values[name] = value
    where = sql.SQL(" AND ").join([sql.SQL(part) for part in parts])
    # The page is found first, by an index alone, then read.
    page = sql.SQL(
        "WITH page AS MATERIALIZED (SELECT g.grant_id FROM grants g WHERE {} {} ORDER BY g.grant_id DESC"
        " LIMIT %(limit)s OFFSET %(offset)s) SELECT {} FROM page JOIN grants g ON g.org_id = %(org)s"
        " AND g.grant_id = page.grant_id ORDER BY g.grant_id DESC"
    )
    query = page.format(where, sql.SQL("" if cursor is None else "AND g.grant_id < %(before)s"), _COLUMNS)
    rows = await (
        await connection.execute(query, {**values, "before": cursor, "limit": limit, "offset": offset}, prepare=False)
    ).fetchall()
    grants = [grant_of(row) for row in rows]
    # The oldest have ended.
    order = sql.SQL("ORDER BY g.grant_id" if wanted.status is GrantStatus.EXPIRED else "")
    source = sql.SQL("(SELECT FROM grants g WHERE {} {}) m").format(where, order)
    shown = Shown(len(rows), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, values, shown, exact=exact_total, prepare=False)
    return GrantPage(grants, total, is_minimum, grants[-1].grant_id if len(grants) == limit else None)


async def newest_uses(connection: Connection, org_id: str, grant_id: str, limit: int) -> list[GrantUse]:
    """Newest first."""
    cursor = await connection.execute(
        "SELECT action_id, execution_id, amount, used_at, given_back_at FROM grant_uses"
        " WHERE org_id = %s AND grant_id = %s ORDER BY action_id DESC LIMIT %s",
        [org_id, grant_id, limit],
    )
    return [
        GrantUse(row["action_id"], row["execution_id"], row["amount"], row["used_at"], row["given_back_at"])
        for row in await cursor.fetchall()
    ]


async def save_revocation(
    connection: Connection, org_id: str, grant_id: str, at: datetime, by: str, reason: str
) -> None:
    """The caller holds the row's lock."""
    await connection.execute(
        "UPDATE grants SET revoked_at = %s, revoked_by = %s, revoke_reason = %s WHERE org_id = %s AND grant_id = %s",
        [at, by, reason, org_id, grant_id],
    )


async def save_granters(connection: Connection, grant: Grant) -> None:
    """The caller holds the row's lock."""
    await connection.execute(
        "UPDATE grants SET granters = %s WHERE org_id = %s AND grant_id = %s",
        [granters_text(grant.granters), grant.org_id, grant.grant_id],
    )
