"""/v1/actions/{id}/body: the bytes of a held call's body that its params do not show, in parts or as a file."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.actions.body_schemas import BodyPartAnswer, members_of
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId
from admin_api.principal import Principal
from headgate.actions.kept_bodies import with_kept_bodies
from headgate.actions.store import get_action
from headgate.actions.unparsed_body import UnparsedBody, kept_bytes, read_unparsed_body
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import sha256_bytes
from headgate.kernel.errors import NotFoundError
from headgate.retention.model import BodyState

router = APIRouter(route_class=GuardedRoute, tags=["actions"])

PART_BYTES: Final = 4 << 10
PART_BYTES_MAX: Final = 64 << 10
OFFSET_MAX: Final = 1 << 30
_OCTETS: Final = "application/octet-stream"
_FORGOTTEN: Final[Mapping[str, str]] = {
    BodyState.DROPPED: "The body of {} was dropped at the end of its retention.",
    BodyState.ERASED: "The body of {} was erased.",
}


@router.get("/v1/actions/{id}/body")
async def part(
    id: ActionId,  # noqa: A002 - as the other routes of an action name it
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX, description="Where the part begins, in bytes.")] = 0,
    limit: Annotated[int, Query(ge=1, le=PART_BYTES_MAX, description="Bytes of the part.")] = PART_BYTES,
) -> BodyPartAnswer:
    """Gets a part of the body of a held call, where the params do not show it: binary bodies, texts above 64 KiB, and
    forms with files. Secrets are masked."""
    body, content = await _body(dependencies, principal, id)
    shown = base64.b64encode(content[offset : offset + limit]).decode()
    return BodyPartAnswer(**members_of(body), offset=offset, content=shown)


@router.get(
    "/v1/actions/{id}/body/content",
    response_class=Response,
    responses={200: {"content": {_OCTETS: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def content(
    id: ActionId,  # noqa: A002 - as the other routes of an action name it
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> Response:
    """Downloads the same body. `Repr-Digest` (RFC 9530) is its SHA-256."""
    body, kept = await _body(dependencies, principal, id)
    digest = base64.b64encode(sha256_bytes(body.sha256)).decode()
    headers = {
        # No browser shows it in our origin, whatever an agent has put into it.
        "Content-Disposition": f'attachment; filename="{id}.body.bin"',
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
        "Repr-Digest": f"sha-256=:{digest}:",
    }
    return Response(kept, media_type=_OCTETS, headers=headers)


async def _body(dependencies: Dependencies, principal: Principal, action_id: str) -> tuple[UnparsedBody, bytes]:
    """Raises NotFoundError: no action of this caller, or its record keeps no such bytes."""
    org_id = principal.org_id
    await apply_before_reading(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        detail = await get_action(connection, org_id, action_id, agent_id=principal.agent_id)
        detail = await with_kept_bodies(connection, org_id, detail, dependencies.vault)
    member = detail.action.request.unparsed_body
    body = read_unparsed_body(member)
    if member is None or body is None:
        raise NotFoundError(_why_missing(action_id, detail.action.body_state))
    return body, await asyncio.to_thread(kept_bytes, member)


def _why_missing(action_id: str, state: str) -> str:
    told = _FORGOTTEN.get(state)
    if told is not None:
        return told.format(action_id)
    return (
        f"The record of {action_id} keeps no separate body. Headgate keeps the bytes of held calls whose params do not"
        " show them; read the params instead."
    )
