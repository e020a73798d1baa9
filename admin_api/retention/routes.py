"""/admin/settings/retention and /admin/retention: how long bodies are kept, legal holds, and erasure."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.etag import IfMatch
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import LegalHoldId
from admin_api.principal import Principal
from admin_api.retention.schemas import (
    ErasedAction,
    ErasureAnswer,
    ErasureRequest,
    HoldAnswer,
    HoldRequest,
    HoldsAnswer,
    LiftRequest,
    hold_answer,
)
from admin_api.settings.tagged import replaced, replaced_with, shown
from headgate.db.database import Connection
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.organizations.change import OrganizationChange
from headgate.organizations.model import SettingName
from headgate.retention.erasure import erase_actions
from headgate.retention.hold_store import list_holds
from headgate.retention.holds import lift_hold, place_hold
from headgate.retention.model import policy_document
from headgate.retention.settings import load_policy, put_policy
from headgate.workflows.retained_kinds import BESIDE_ACTIONS, KINDS

router = APIRouter(route_class=GuardedRoute, tags=["retention"])


@router.get("/admin/settings/retention", response_class=Response)
async def get_retention(request: Request) -> Response:
    """Gets the retention settings: after how many days bodies are encrypted separately, and after how many days each
    kind of data is dropped."""
    return await shown(request, SettingName.RETENTION, _policy)


@router.put("/admin/settings/retention", response_class=Response)
async def set_retention(request: Request, if_match: IfMatch = None) -> Response:
    """Replaces the retention settings. Omitted fields get their defaults. The worker applies them within minutes.

    If-Match: only if they are still at that version.
    """

    return await replaced(request, SettingName.RETENTION, if_match, _put_policy)


async def save_retention(
    principal: Principal, dependencies: Dependencies, body: bytes, if_match: str | None
) -> Response:
    """As the route does, with ``body`` as the policy in JSON. Raises ValidationError, ConflictError."""
    return await replaced_with(principal, dependencies, SettingName.RETENTION, body, if_match, _put_policy)


async def _put_policy(change: OrganizationChange, document: JsonValue) -> JsonObject:
    return policy_document(await put_policy(change, document, KINDS))


async def _policy(connection: Connection, org_id: str) -> JsonObject:
    return policy_document(await load_policy(connection, org_id, KINDS))


@router.get("/admin/retention/holds")
async def get_holds(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    in_force: Annotated[bool, Query(description="Without those that were lifted.")] = True,
) -> HoldsAnswer:
    """Lists legal holds. Data under a hold is neither dropped nor erased."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        found = await list_holds(connection, principal.org_id, in_force=in_force)
    return HoldsAnswer(data=[hold_answer(one) for one in found])


@router.post("/admin/retention/holds", status_code=201)
async def hold(body: HoldRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> HoldAnswer:
    """Places a legal hold. It is in force when the response is sent."""
    target = body.checked_target()
    await require_applied(dependencies.database, principal.org_id)
    async with administer(principal, dependencies) as change:
        return hold_answer(await place_hold(change, body.scope, target, body.reason))


@router.post("/admin/retention/holds/{hold_id}/lift")
async def lift(
    hold_id: LegalHoldId,
    body: LiftRequest,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> HoldAnswer:
    """Lifts a legal hold, with its own reason. The hold stays in the list."""
    async with administer(principal, dependencies) as change:
        return hold_answer(await lift_hold(change, hold_id, body.reason))


@router.post("/admin/retention/erasures")
async def erase(body: ErasureRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> ErasureAnswer:
    """Erases the stored data of actions permanently: their encryption keys and their rows. The chain and the proof
    packs still verify, and show who erased what and why."""
    action_ids = list(dict.fromkeys(body.action_ids))
    await require_applied(dependencies.database, principal.org_id)
    async with administer(principal, dependencies) as change:
        outcomes = await erase_actions(change, action_ids, body.depth, body.reason, BESIDE_ACTIONS)
    return ErasureAnswer(
        depth=body.depth,
        actions=[ErasedAction(action_id=one, outcome=outcome) for one, outcome in outcomes.items()],
    )
