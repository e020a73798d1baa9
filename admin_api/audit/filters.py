"""The query of /admin/audit: which events, which part of them, in which shape. What is not known is refused."""

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Query
from starlette.requests import Request

from admin_api.instants import range_of_time
from admin_api.pagination import CURSOR_CHARACTERS, MAX_LIMIT, MAX_OFFSET, MAX_PAGE, ListRequest, list_part
from headgate.agents.store import agent_ids_of
from headgate.audit.model import EventFilter, EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.policies.model import RiskLevel, Verdict

DEFAULT_LIMIT: Final = 50  # specification, "Limits"
_ISO_8601: Final = "ISO 8601; a date alone is the whole day, a time without an offset is UTC"
_NAME: Final = r"^[a-z][a-z0-9_]*$"  # specification, "Action request"

FILTERS: Final = (
    "start_date", "end_date", "event_type", "action_id", "agent_id", "agent", "risk_level", "tool", "operation",
    "decision", "search",
)  # fmt: skip
_PAGES: Final = ("limit", "offset", "total", "cursor", "shape", "page", "pageSize")

type EventShape = Literal["camel", "schema"] | None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """``wanted`` but for ``agent``, a name or an identifier, which the database knows. ``given``: as it was asked."""

    wanted: EventFilter
    agent: str | None
    given: JsonObject


def audit_filter(
    request: Request,
    start_date: Annotated[str | None, Query(max_length=64, description=_ISO_8601)] = None,
    end_date: Annotated[str | None, Query(max_length=64, description=_ISO_8601)] = None,
    event_type: Annotated[str | None, Query(max_length=64, pattern=r"^[a-z_]+\.[a-z_]+$")] = None,
    action_id: Annotated[str | None, Query(max_length=64)] = None,
    agent_id: Annotated[str | None, Query(max_length=64)] = None,
    agent: Annotated[str | None, Query(min_length=1, max_length=128, description="An agent's name, or its id.")] = None,
    risk_level: Annotated[RiskLevel | None, Query(description="Of the event's action.")] = None,
    tool: Annotated[str | None, Query(max_length=64, pattern=_NAME, description="Of the event's action.")] = None,
    operation: Annotated[str | None, Query(max_length=64, pattern=_NAME, description="Of the event's action.")] = None,
    decision: Annotated[Verdict | None, Query(description="Of the event's action.")] = None,
    search: Annotated[
        str | None, Query(min_length=3, max_length=200, description="Within the actor and the data, in either case.")
    ] = None,
) -> AuditFilter:
    """Raises ValidationError."""
    start, end = range_of_time(start_date, end_date)
    wanted = EventFilter(
        start=start,
        end=end,
        event_type=_known_type(event_type),
        action_id=None if action_id is None else parse_id(IdPrefix.ACTION, action_id),
        agent_id=None if agent_id is None else parse_id(IdPrefix.AGENT, agent_id),
        risk_level=None if risk_level is None else risk_level.value,
        tool=tool,
        operation=operation,
        decision=None if decision is None else decision.value,
        text=search,
    )
    given: JsonObject = {name: value for name, value in request.query_params.items() if name in FILTERS}
    return AuditFilter(wanted, agent, given)


def _known_type(name: str | None) -> str | None:
    """A type that was misspelt would otherwise look like one that never happened. Raises ValidationError."""
    types = [one.value for one in EventType]
    if name is None or name in types:
        return name
    near = difflib.get_close_matches(name, types, n=3)
    meant = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(types)}"
    raise ValidationError(
        f"{name}: there is no such event type; {meant}", details={"field": "event_type", "reason": "unknown event type"}
    )


def audit_list(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    total: Annotated[Literal["exact"] | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=CURSOR_CHARACTERS)] = None,
    shape: Annotated[EventShape, Query()] = None,
    page: Annotated[int | None, Query(ge=1, le=MAX_PAGE)] = None,
    page_size: Annotated[int | None, Query(alias="pageSize", ge=1, le=MAX_LIMIT)] = None,
) -> ListRequest:
    """Raises ValidationError."""
    refuse_unknown(request, (*FILTERS, *_PAGES))
    if page is not None or page_size is not None:
        limit = page_size or DEFAULT_LIMIT
        offset = ((page or 1) - 1) * limit
    if total is not None and "search" in request.query_params:
        raise ValidationError(
            "a search goes through the record page by page and has no exact total: export what it finds",
            details={"field": "total", "reason": "not with search"},
        )
    if offset and "search" in request.query_params:
        raise ValidationError(
            "a search goes through the record page by page: go on by cursor, and leave offset and page out",
            details={"field": "offset", "reason": "not with search"},
        )
    return list_part(limit, offset, cursor, exact_total=total == "exact", camel=shape == "camel")


def refuse_unknown(request: Request, known: Iterable[str]) -> None:
    """A filter that was misspelt would otherwise show more than was asked for. Raises ValidationError."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    known = tuple(known)
    for name, times in given.items():
        if name not in known:
            raise ValidationError(
                f"{name[:64]}: there is no such parameter; there are {', '.join(known)}",
                details={"field": name[:64], "reason": "unknown parameter"},
            )
        if times > 1:
            raise ValidationError(f"{name} is given {times} times", details={"field": name, "reason": "repeated"})


async def resolve(connection: Connection, org_id: str, asked: AuditFilter) -> EventFilter:
    """With the agents that a name stands for; none of that name means no events."""
    if asked.agent is None:
        return asked.wanted
    return asked.wanted.of_agents(await agent_ids_of(connection, org_id, asked.agent))


type CurrentFilter = Annotated[AuditFilter, Depends(audit_filter)]
type CurrentList = Annotated[ListRequest, Depends(audit_list)]
