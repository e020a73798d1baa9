"""The query of /admin/audit: which events, which part of them, in which shape. What is not known is refused."""

import difflib
from typing import Annotated, Final, Literal

from fastapi import Depends, Query
from msgspec import Struct
from msgspec.structs import replace
from pydantic import WithJsonSchema
from starlette.requests import Request

from admin_api.identifiers import ActionId, AgentId, ApprovalId
from admin_api.instants import InstantText, range_of_time
from admin_api.pagination import MAX_LIMIT, MAX_OFFSET, MAX_PAGE, ListRequest, part_of
from headgate.agents.store import agent_ids_of
from headgate.approvals.store import get_approval
from headgate.audit.model import EventFilter, EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, sha256_bytes
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.policies.model import RiskLevel, Verdict

_SEQ_MAX: Final = 10**18 - 1
DEFAULT_LIMIT: Final = 50  # specification, "Limits"
_ISO_8601: Final = "ISO 8601. A date means the whole day. A time without an offset is UTC."
_NAME: Final = r"^[a-z][a-z0-9_]*$"  # specification, "Action request"

_EVENT_TYPES: Final = {"anyOf": [{"type": "string", "enum": [one.value for one in EventType]}, {"type": "null"}]}

FILTERS: Final = (
    "start_date", "end_date", "event_type", "action_id", "agent_id", "agent", "risk_level", "tool", "operation",
    "decision", "search", "actor", "approval_id", "seq", "hash",
)  # fmt: skip

type _Search = Annotated[
    str | None, Query(min_length=3, max_length=200, description="Case-insensitive text in the actor and the data.")
]
type _Actor = Annotated[
    str | None,
    Query(min_length=3, max_length=200, description="Case-insensitive text in the actor: name, email address, id."),
]
type _Hash = Annotated[
    str | None,
    Query(pattern=r"^(sha256:)?[0-9a-f]{64}$", description="The hash of the event (SHA-256), in hexadecimal."),
]
type EventShape = Literal["camel", "schema"] | None


class AuditFilter(Struct, frozen=True):
    """``wanted`` but for ``agent``, a name or an identifier, and ``approval_id``, whose action the database knows.
    ``given``: as it was asked."""

    wanted: EventFilter
    agent: str | None
    approval_id: str | None
    given: JsonObject


def audit_filter(
    request: Request,
    start_date: Annotated[InstantText | None, Query(description=_ISO_8601)] = None,
    end_date: Annotated[InstantText | None, Query(description=_ISO_8601)] = None,
    event_type: Annotated[
        str | None, Query(max_length=64, pattern=r"^[a-z_]+\.[a-z_]+$"), WithJsonSchema(_EVENT_TYPES)
    ] = None,
    action_id: ActionId | None = None,
    agent_id: AgentId | None = None,
    agent: Annotated[str | None, Query(min_length=1, max_length=128, description="An agent's name, or its id.")] = None,
    risk_level: Annotated[RiskLevel | None, Query(description="Of the event's action.")] = None,
    tool: Annotated[str | None, Query(max_length=64, pattern=_NAME, description="Of the event's action.")] = None,
    operation: Annotated[str | None, Query(max_length=64, pattern=_NAME, description="Of the event's action.")] = None,
    decision: Annotated[Verdict | None, Query(description="Of the event's action.")] = None,
    search: _Search = None,
    actor: _Actor = None,
    approval_id: Annotated[ApprovalId | None, Query(description="The events of its action.")] = None,
    seq: Annotated[int | None, Query(ge=1, le=_SEQ_MAX, description="The number of the event in the chain.")] = None,
    hash: _Hash = None,  # noqa: A002 - as the event's member is called
) -> AuditFilter:
    """Raises ValidationError."""
    start, end = range_of_time(start_date, end_date)
    wanted = EventFilter(
        start=start,
        end=end,
        event_type=_known_type(event_type),
        action_id=action_id,
        agent_id=agent_id,
        risk_level=None if risk_level is None else risk_level.value,
        tool=tool,
        operation=operation,
        decision=None if decision is None else decision.value,
        text=search,
        seq=seq,
        actor=actor,
        hash=None if hash is None else sha256_bytes(hash),
    )
    given: JsonObject = {name: value for name, value in request.query_params.items() if name in FILTERS}
    return AuditFilter(wanted, agent, approval_id, given)


def _known_type(name: str | None) -> str | None:
    """A type that was misspelt would otherwise look like one that never happened. Raises ValidationError."""
    types = [one.value for one in EventType]
    if name is None or name in types:
        return name
    near = difflib.get_close_matches(name, types, n=3)
    meant = f"did you mean {' or '.join(near)}?" if near else f"event types: {', '.join(types)}"
    raise ValidationError(
        f"{name}: unknown event type; {meant}", details={"field": "event_type", "reason": "unknown event type"}
    )


def audit_list(
    limit: Annotated[
        int | None, Query(ge=1, le=MAX_LIMIT, description=f"Maximum number of results. Default: {DEFAULT_LIMIT}.")
    ] = None,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    total: Annotated[Literal["exact"] | None, Query(description="Not with search, actor or hash.")] = None,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$")] = None,
    shape: Annotated[EventShape, Query()] = None,
    page: Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="Counted from 1.")] = None,
    page_size: Annotated[int | None, Query(alias="pageSize", ge=1, le=MAX_LIMIT)] = None,
    search: _Search = None,
    actor: _Actor = None,
    hash: _Hash = None,  # noqa: A002 - as the event's member is called
) -> ListRequest:
    """Raises ValidationError."""
    size, start = part_of(limit, offset, page, page_size, DEFAULT_LIMIT)
    is_search = any(one is not None for one in (search, actor, hash))
    if is_search and total is not None:
        raise ValidationError(
            "a search has no exact total, because it reads the log page by page. Export the results instead.",
            details={"field": "total", "reason": "not with search"},
        )
    if is_search and start:
        raise ValidationError(
            "a search reads the log page by page. Continue with cursor, without offset and page.",
            details={"field": "offset", "reason": "not with search"},
        )
    return ListRequest(size, start, total == "exact", shape == "camel", cursor)


async def resolve(connection: Connection, org_id: str, asked: AuditFilter) -> EventFilter:
    """With the agents that a name stands for, and the action of an approval; none of them means no events."""
    wanted = asked.wanted
    if asked.agent is not None:
        wanted = wanted.of_agents(await agent_ids_of(connection, org_id, asked.agent))
    if asked.approval_id is None:
        return wanted
    try:
        approval, _ = await get_approval(connection, org_id, asked.approval_id)
    except NotFoundError:
        return wanted.of_agents(())
    if wanted.action_id not in (None, approval.action_id):
        return wanted.of_agents(())
    return replace(wanted, action_id=approval.action_id)


type CurrentFilter = Annotated[AuditFilter, Depends(audit_filter)]
type CurrentList = Annotated[ListRequest, Depends(audit_list)]
