"""Lists of approvals, newest first, each by an index that has the list's order (``schema/08_approvals.sql``)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from psycopg import sql

from headgate.approvals.model import Approval, ApprovalStatus
from headgate.approvals.rows import COLUMNS, STATES_RISK, approval_from
from headgate.approvals.store import HeldAction, held_from
from headgate.db.bounded_count import EXACT_TOTAL_LIMIT, Shown, count_list, count_rows
from headgate.db.database import Connection
from headgate.kernel.ids import IdPrefix, earliest_id
from headgate.kernel.json_beginning import BEGINNING_CHARACTERS

_FEW_ASSIGNED: Final = 1_000
_ASKED_TOTAL: Final = 500
"""The largest count that is exact when every candidate approval's assignees must be checked."""
_ASSIGNED: Final = sql.SQL(
    "EXISTS (SELECT FROM approval_assignees x WHERE x.org_id = %(org)s AND x.approval_id = p.approval_id"
    " AND x.name = ANY (%(names)s) OFFSET 0)"
)
# OFFSET 0 forces one lookup per row in the list's order; a join would read all assignments first.
_WAITS_FOR: Final = sql.SQL(
    "({} OR NOT EXISTS (SELECT FROM approval_assignees x WHERE x.org_id = %(org)s AND x.approval_id = p.approval_id"
    " OFFSET 0)) AND NOT EXISTS (SELECT FROM approval_votes v WHERE v.org_id = %(org)s"
    " AND v.approval_id = p.approval_id AND v.user_id = ANY (%(voters)s) OFFSET 0)"
).format(_ASSIGNED)
_CLOCK_SLACK: Final = timedelta(hours=1)
"""The most that the time in an id may differ from ``created_at``: processes' clocks differ and get adjusted."""


class Awaited(Struct, frozen=True):
    """A person whose vote is awaited: their names in lower case, and the users that they are."""

    names: frozenset[str]
    user_ids: frozenset[str]


class ApprovalFilter(Struct, frozen=True):
    """The filter of a list; None means any. ``status`` is the current status, not the row's. ``assigned_to`` are a
    person's names in lower case; one match suffices. The bounds of ``created_at`` are inclusive.

    For open approvals only, which are few and need no index of their own: ``host`` of an HTTP call, ``is_held`` (a call
    waits now), ``oldest_first``, and ``waits_for``: assigned to this person or to nobody, and not voted on by them.
    """

    status: ApprovalStatus | None = None
    agent_id: str | None = None
    risk_level: str | None = None
    tool: str | None = None
    policy_id: str | None = None
    host: str | None = None
    is_held: bool = False
    oldest_first: bool = False
    assigned_to: frozenset[str] | None = None
    waits_for: "Awaited | None" = None
    created_from: datetime | None = None
    created_to: datetime | None = None

    @property
    def is_more_than_assigned(self) -> bool:
        """Whether the filter names a person and another condition that the assignments table cannot answer."""
        others = (
            self.agent_id,
            self.risk_level,
            self.tool,
            self.policy_id,
            self.host,
            self.is_held or None,
            self.created_from,
            self.created_to,
        )
        return bool(self.assigned_to) and any(one is not None for one in others)


class ApprovalPage(Struct, frozen=True):
    """One page, in the order of the filter."""

    approvals: Sequence[tuple[Approval, HeldAction]]
    total: int
    total_is_minimum: bool
    next_cursor: str | None


async def list_approvals(
    connection: Connection,
    org_id: str,
    wanted: ApprovalFilter,
    *,
    limit: int = 20,
    offset: int = 0,
    cursor: str | None = None,
    exact_total: bool = False,
) -> ApprovalPage:
    """Returns a page. ``cursor`` is the id of the last approval already seen."""
    each = wanted.is_more_than_assigned and await _are_many(connection, org_id, wanted.assigned_to or frozenset())
    query, parameters = listing(org_id, wanted, limit=limit, offset=offset, cursor=cursor, each=each)
    rows = await (await connection.execute(query, parameters)).fetchall()
    source, _ = matching(org_id, wanted, sql.SQL(""), each=each)
    most = _ASKED_TOTAL if each or wanted.waits_for is not None else EXACT_TOTAL_LIMIT
    shown = Shown(len(rows), limit, offset, cursor)
    total, is_minimum = await count_list(connection, source, parameters, shown, exact=exact_total, most=most)
    approvals = [(approval_from(row), held_from(row)) for row in rows]
    return ApprovalPage(
        approvals=approvals,
        total=total,
        total_is_minimum=is_minimum,
        next_cursor=approvals[-1][0].approval_id if len(approvals) == limit else None,
    )


async def _are_many(connection: Connection, org_id: str, names: frozenset[str]) -> bool:
    """Whether the names have so many assignments that checking each approval's assignees costs less."""
    source = sql.SQL("approval_assignees WHERE org_id = %(org)s AND name = ANY (%(names)s)")
    values = {"org": org_id, "names": sorted(names)}
    return (await count_rows(connection, source, values, exact=False, most=_FEW_ASSIGNED)).is_minimum


def listing(
    org_id: str, wanted: ApprovalFilter, *, limit: int, offset: int, cursor: str | None, each: bool = False
) -> tuple[sql.Composed, dict[str, object]]:
    """The statement for one page. It finds the page from approvals alone, then reads the rest of those rows."""
    beyond = " AND p.approval_id > %(seen)s" if wanted.oldest_first else " AND p.approval_id < %(seen)s"
    after = sql.SQL("" if cursor is None else beyond)
    order = sql.SQL("p.approval_id ASC" if wanted.oldest_first else "p.approval_id DESC")
    source, values = matching(org_id, wanted, after, each=each)
    query = sql.SQL(
        "WITH page AS MATERIALIZED ("
        "SELECT p.approval_id FROM {} ORDER BY {} LIMIT %(limit)s OFFSET %(offset)s)"
        " SELECT {}, a.tool, a.operation, left(a.request, {}) AS request, {} FROM page"
        " JOIN approvals p ON p.org_id = %(org)s AND p.approval_id = page.approval_id"
        " JOIN actions a ON a.org_id = p.org_id AND a.action_id = p.action_id ORDER BY {}"
    ).format(source, order, COLUMNS, sql.Literal(BEGINNING_CHARACTERS), STATES_RISK, order)
    return query, {**values, "seen": cursor, "limit": limit, "offset": offset}


def matching(
    org_id: str, wanted: ApprovalFilter, after: sql.SQL, *, each: bool = False
) -> tuple[sql.Composed, dict[str, object]]:
    """``table p WHERE conditions``, in a form that always uses an index in the list's order.

    Approvals expired by time and by the worker are two ordered lists to merge, as are the lists of a person's several
    names. An OR of them would scan in primary key order. ``each``: checks the assignees of each approval that passes
    the other filters. Otherwise the query starts from the assignments and checks the other filters.
    """
    conditions, values = _conditions(org_id, wanted, each=each)
    where = sql.Composed([sql.SQL(" AND ").join(conditions), after])
    if wanted.status is ApprovalStatus.EXPIRED:
        branch = sql.SQL("(SELECT p.approval_id FROM approvals p WHERE {} AND {} ORDER BY p.approval_id DESC)")
        ended = branch.format(where, sql.SQL("p.status = 'expired'"))
        overdue = branch.format(where, sql.SQL("p.status = 'pending' AND p.expires_at <= clock_timestamp()"))
        return sql.SQL("({} UNION ALL {}) p WHERE true").format(ended, overdue), values
    if wanted.assigned_to and not each and wanted.status is not ApprovalStatus.PENDING:
        assigned = _assigned(wanted.assigned_to, after, values, decided=wanted.status is not None)
        if len(conditions) == (1 if wanted.status is None else 2):
            # There is no other filter, so the count needs only the assignments.
            return sql.SQL("({}) p WHERE true").format(assigned), values
        joined = sql.SQL("({}) m JOIN approvals p ON p.org_id = %(org)s AND p.approval_id = m.approval_id WHERE {}")
        return joined.format(assigned, where), values
    return sql.SQL("approvals p WHERE {}").format(where), values


def _assigned(names: frozenset[str], after: sql.SQL, values: dict[str, object], *, decided: bool) -> sql.Composed:
    """Selects the assignments of any of these names; ``decided``: with the status in ``values``."""
    branches: list[sql.Composable] = []
    for number, name in enumerate(sorted(names)):
        values[f"name_{number}"] = name
        branch = sql.SQL(
            "(SELECT p.approval_id FROM approval_assignees p WHERE p.org_id = %(org)s AND p.name = {}{}{}"
            " ORDER BY p.approval_id DESC)"
        )
        status = sql.SQL(" AND p.status = %(status)s" if decided else "")
        branches.append(branch.format(sql.Placeholder(f"name_{number}"), status, after))
    return sql.SQL("SELECT DISTINCT s.approval_id FROM ({}) s ORDER BY s.approval_id DESC").format(
        sql.SQL(" UNION ALL ").join(branches)
    )


def _conditions(org_id: str, wanted: ApprovalFilter, *, each: bool) -> tuple[list[sql.Composable], dict[str, object]]:
    parts: list[sql.Composable] = [sql.SQL("p.org_id = %(org)s")]
    values: dict[str, object] = {"org": org_id}
    if wanted.status is ApprovalStatus.PENDING:
        parts.append(sql.SQL("p.status = 'pending' AND p.expires_at > clock_timestamp()"))
    elif wanted.status is not None and wanted.status is not ApprovalStatus.EXPIRED:
        parts.append(sql.SQL("p.status = %(status)s"))
        values["status"] = wanted.status.value
    for column, value in (
        ("agent_id", wanted.agent_id),
        ("risk_level", wanted.risk_level),
        ("tool", wanted.tool),
        ("policy_id", wanted.policy_id),
    ):
        if value is not None:
            parts.append(sql.SQL("p.{} = {}").format(sql.Identifier(column), sql.Placeholder(column)))
            values[column] = value
    if wanted.is_held:
        parts.append(sql.SQL("p.held_until > clock_timestamp()"))
    if wanted.host is not None:
        parts.append(
            sql.SQL(
                "EXISTS (SELECT FROM actions h WHERE h.org_id = %(org)s AND h.action_id = p.action_id"
                " AND h.request::json #>> '{{http,host}}' = %(host)s OFFSET 0)"
            ).format()
        )
        values["host"] = wanted.host.casefold()
    if wanted.waits_for is not None:
        parts.append(_WAITS_FOR)
        values["names"] = sorted(wanted.waits_for.names)
        values["voters"] = sorted(wanted.waits_for.user_ids)
    few_wait = wanted.status in (ApprovalStatus.PENDING, ApprovalStatus.EXPIRED)
    if wanted.assigned_to is not None and (few_wait or each):
        parts.append(_ASSIGNED)
        values["names"] = sorted(wanted.assigned_to)
    _created(wanted, parts, values)
    return parts, values


def _created(wanted: ApprovalFilter, parts: list[sql.Composable], values: dict[str, object]) -> None:
    """An id starts with its creation time, so a time range is a range of the primary key."""
    if wanted.created_from is not None:
        parts.append(sql.SQL("p.created_at >= %(from)s AND p.approval_id >= %(from_id)s"))
        values["from"] = wanted.created_from
        values["from_id"] = earliest_id(IdPrefix.APPROVAL, wanted.created_from, -_CLOCK_SLACK)
    if wanted.created_to is not None:
        parts.append(sql.SQL("p.created_at <= %(to)s AND p.approval_id < %(to_id)s"))
        values["to"] = wanted.created_to
        values["to_id"] = earliest_id(IdPrefix.APPROVAL, wanted.created_to, _CLOCK_SLACK)
