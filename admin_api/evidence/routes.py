"""Signed checkpoints of the record, proofs about them, proof packs, and the keys to check all of it with."""

import base64
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.evidence.schemas import (
    CheckpointsAnswer,
    ConsistencyAnswer,
    KeysAnswer,
    checkpoint_answer,
    checkpoints_answer,
    keys_answer,
)
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ActionId, OrganizationId
from headgate.audit.model import EventType
from headgate.evidence.attestation_store import attestations_by_size
from headgate.evidence.export_store import load_exports
from headgate.evidence.pack import make_pack
from headgate.evidence.prove import prove_consistency
from headgate.evidence.tree_store import get_checkpoint, latest_checkpoint, list_checkpoints, load_tree
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject, sha256_hex
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID

router = APIRouter(route_class=GuardedRoute, tags=["audit"])

_MAX_SIZE: Final = 2**63 - 1
_GRACE_SECONDS: Final = 5.0


@router.get("/.well-known/headgate-keys")
async def signing_keys(
    dependencies: CurrentDependencies,
    organization: Annotated[OrganizationId, Query(description="Default: the first organization.")] = (
        DEFAULT_ORGANIZATION_ID
    ),
) -> KeysAnswer:
    """Lists the public keys that verify the checkpoints of a log. Includes keys from before a rotation."""
    return _keys_of(dependencies, organization)


@router.get("/admin/audit/keys")
async def own_signing_keys(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeysAnswer:
    """Lists the public keys of the caller's own log."""
    return _keys_of(dependencies, principal.org_id)


def _keys_of(dependencies: Dependencies, org_id: str) -> KeysAnswer:
    if dependencies.signing_keys.is_missing:
        raise UnavailableError("No checkpoint has been signed yet. The key is created with the first checkpoint.")
    return keys_answer(dependencies.signing_keys.load(), org_id)


@router.get("/admin/audit/checkpoints")
async def checkpoints(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    after: Annotated[int, Query(ge=0, le=_MAX_SIZE, description="Only checkpoints with more events.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    latest: Annotated[bool, Query(description="Only the newest checkpoint.")] = False,
) -> CheckpointsAnswer:
    """Lists checkpoints, smallest first, and reports any problem that prevents new ones."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        if latest:
            newest = await latest_checkpoint(connection, principal.org_id)
            found = [] if newest is None else [newest]
        else:
            found = await list_checkpoints(connection, principal.org_id, after=after, limit=limit)
        tree = await load_tree(connection, principal.org_id)
        exports = await load_exports(connection, principal.org_id)
        attested = await attestations_by_size(connection, principal.org_id, [one.size for one in found])
    return checkpoints_answer(found, tree, exports, attested)


@router.get("/admin/audit/consistency")
async def consistency(
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    first: Annotated[int, Query(ge=1, le=_MAX_SIZE)],
    second: Annotated[int, Query(ge=1, le=_MAX_SIZE)],
) -> ConsistencyAnswer:
    """Gets the proof that one checkpoint extends another. Checkpoints are named by their sizes."""
    if first > second:
        raise ValidationError("first is larger than second", details={"field": "first"})
    async with dependencies.database.transaction(principal.org_id) as connection:
        older = await get_checkpoint(connection, principal.org_id, first)
        newer = await get_checkpoint(connection, principal.org_id, second)
        path = await prove_consistency(connection, principal.org_id, first, second)
    return ConsistencyAnswer(
        first=checkpoint_answer(older),
        second=checkpoint_answer(newer),
        path=[base64.b64encode(one).decode() for one in path],
    )


@router.get(
    "/admin/audit/actions/{action_id}/proof-pack",
    response_class=Response,
    responses={200: {"description": "The pack", "content": {"application/zip": {}}}},
)
async def proof_pack(action_id: ActionId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> Response:
    """Downloads the proof pack of one action as a ZIP archive, to verify it without this service."""
    await apply_before_reading(dependencies.database, principal.org_id)
    pack = await make_pack(
        dependencies.database,
        principal.org_id,
        action_id,
        dependencies.catalogue_documents,
        dependencies.vault,
        dependencies.signing_keys,
        wait_seconds=dependencies.checkpoint_seconds + _GRACE_SECONDS,
    )
    async with administer(principal, dependencies) as change:
        # Not in the event's own column: the pack of an action would change with each look at it.
        data: JsonObject = {"action_id": action_id, "tree_size": pack.size, "sha256": sha256_hex(pack.content)}
        await change.record(EventType.PROOF_PACK_EXPORTED, data)
    return Response(
        pack.content,
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{action_id}.zip"'},
    )
