"""/admin/settings/kill-switch: stop an organization, an agent or a tool at once, and let it go on."""

import re
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import ConfigDict, Field, StrictBool

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.agents.kill_switch import current_stops, lift, named_agent, stop
from headgate.kernel.errors import ValidationError
from headgate.organizations.stops import Stops, StopScope

router = APIRouter(route_class=GuardedRoute, tags=["settings"])

_TOOL: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TARGET_OF_SCOPE: Final[dict[str, Any]] = {
    "oneOf": [
        {"properties": {"scope": {"const": StopScope.ORGANIZATION.value}, "target": {"type": "null"}}},
        {
            "required": ["target"],
            "properties": {"scope": {"const": StopScope.AGENT.value}, "target": {"type": "string"}},
        },
        {
            "required": ["target"],
            "properties": {
                "scope": {"const": StopScope.TOOL.value},
                "target": {"type": "string", "pattern": f"^{_TOOL.pattern}$"},
            },
        },
    ]
}


class KillSwitch(BaseModel):
    """PUT /admin/settings/kill-switch. ``stopped: false`` resumes calls and needs its own reason."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_TARGET_OF_SCOPE)

    scope: StopScope
    target: str | None = Field(
        default=None,
        max_length=128,
        description="The id or name of the agent, or the name of the tool. Not for the organization.",
    )
    reason: Annotated[StorableText, Field(min_length=3, max_length=500)]
    stopped: StrictBool = True

    def checked_target(self) -> str | None:
        """Raises ValidationError."""
        if (self.scope is StopScope.ORGANIZATION) != (self.target is None):
            raise ValidationError(
                "target: required for the scopes agent and tool, not allowed for organization",
                details={"field": "target", "reason": "does not fit the scope"},
            )
        if self.scope is StopScope.TOOL and _TOOL.fullmatch(self.target or "") is None:
            raise ValidationError(
                "target: a tool name must match ^[a-z][a-z0-9_]*$", details={"field": "target", "reason": "not a tool"}
            )
        return self.target


class StopAnswer(BaseModel):
    scope: StopScope
    target: str | None
    reason: str
    stopped_by: str
    at: str


class KillSwitchAnswer(BaseModel):
    """``stops`` empty: nothing is stopped."""

    stops: list[StopAnswer]


@router.get("/admin/settings/kill-switch")
async def get_kill_switch(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KillSwitchAnswer:
    """Lists active stops."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return stops_answer(await current_stops(connection, principal.org_id))


@router.put("/admin/settings/kill-switch")
async def set_kill_switch(
    body: KillSwitch, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> KillSwitchAnswer:
    """Stops or resumes calls. Calls are refused as soon as this responds, held calls within half a second."""
    target = body.checked_target()
    async with administer(principal, dependencies) as change:
        if body.scope is StopScope.AGENT and target is not None:
            target = await named_agent(change.connection, principal.org_id, target)
        act = stop if body.stopped else lift
        stops = await act(change, body.scope, target, body.reason)
    return stops_answer(stops)


def stops_answer(stops: Stops) -> KillSwitchAnswer:
    return KillSwitchAnswer(
        stops=[
            StopAnswer(scope=one.scope, target=one.target, reason=one.reason, stopped_by=one.stopped_by, at=one.at)
            for one in stops
        ]
    )
