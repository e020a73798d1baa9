"""Which captured exchanges a caller wants: by what stands in columns of its own, which SQL compares."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Depends, Query
from msgspec import Struct

from admin_api.identifiers import ActionId, AgentId
from admin_api.instants import InstantText, range_of_time
from headgate.traffic.annotation import TAG_MAX_CHARACTERS
from headgate.traffic.store import TrafficFilter

_ISO_8601 = "ISO 8601. A date means the whole day (UTC)."

type DecisionWord = Literal["allow", "approved", "deny", "approval_pending", "approval_denied"]


class WantedTraffic(Struct, frozen=True):
    """``expression``: mitmproxy's filter language (docs/guides/traffic.md), on what SQL has found."""

    columns: TrafficFilter
    expression: str | None

    @property
    def range(self) -> tuple[datetime | None, datetime | None]:
        return self.columns.start, self.columns.end


def wanted_traffic(
    agent_id: AgentId | None = None,
    action_id: ActionId | None = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    operation: Annotated[str | None, Query(max_length=128)] = None,
    host: Annotated[str | None, Query(max_length=253)] = None,
    method: Annotated[str | None, Query(max_length=32)] = None,
    status: Annotated[int | None, Query(ge=100, le=999)] = None,
    decision: Annotated[DecisionWord | None, Query()] = None,
    tag: Annotated[str | None, Query(max_length=TAG_MAX_CHARACTERS)] = None,
    note: Annotated[str | None, Query(max_length=200, description="Text in its note.")] = None,
    start_date: Annotated[InstantText | None, Query(description=_ISO_8601)] = None,
    end_date: Annotated[InstantText | None, Query(description=_ISO_8601)] = None,
    expression: Annotated[
        str | None,
        Query(alias="filter", max_length=500, description="mitmproxy's filter language: ~m POST & ~bs no"),
    ] = None,
) -> WantedTraffic:
    start, end = range_of_time(start_date, end_date)
    columns = TrafficFilter(
        agent_id=agent_id,
        action_id=action_id,
        tool=tool,
        operation=operation,
        host=None if host is None else host.lower(),
        method=None if method is None else method.upper(),
        status=status,
        decision=decision,
        tag=tag,
        note=note,
        start=start,
        end=end,
    )
    return WantedTraffic(columns, expression)


type CurrentTraffic = Annotated[WantedTraffic, Depends(wanted_traffic)]
