"""Shows what a grant would let through before it is given: in words, and among this agent's earlier requests."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from admin_api.approvals.camel_schemas import CamelApprovalAnswer
from admin_api.approvals.detail_schemas import ApprovalDetailAnswer
from admin_api.approvals.routes import list_all
from admin_api.approvals.schemas import ListedApprovalAnswer
from admin_api.grants.schemas import ApproveAndGrant, SumBound
from admin_api.pagination import ListRequest
from admin_api.web.api import Api
from admin_api.web.grant_words import ConditionWords, words_of
from headgate.grants.model import Scope
from headgate.kernel.canonical_json import sha256_bytes

_LOOKED_AT: Final = 50
_SHOWN: Final = 8


class GrantPreview(Struct, frozen=True):
    """``conditions`` None: only calls identical to this one. ``earlier``: requests of the same operation, newest
    first, and whether the grant would have let each through; None: the list has only the beginning of it."""

    expires_at: datetime
    max_uses: int
    sum: SumBound | None
    conditions: Sequence[ConditionWords] | None
    earlier: Sequence[tuple[ListedApprovalAnswer, bool | None]]


async def preview_of(api: Api, approval: ApprovalDetailAnswer, body: ApproveAndGrant) -> GrantPreview:
    """Raises ValidationError, as giving the grant does."""
    bounds = body.bounds(api.dependencies.clock())
    scope = body.scope(body.conditions, sha256_bytes(approval.digest))
    return GrantPreview(
        expires_at=bounds.expires_at,
        max_uses=bounds.max_uses,
        sum=body.sum,
        conditions=None if body.conditions is None else words_of([one.given() for one in body.conditions]),
        earlier=[] if body.conditions is None else await _earlier(api, approval, scope),
    )


async def _earlier(
    api: Api, approval: ApprovalDetailAnswer, scope: Scope
) -> Sequence[tuple[ListedApprovalAnswer, bool | None]]:
    found = await api.call(
        list_all,
        ListRequest(_LOOKED_AT),
        api.principal,
        api.dependencies,
        agent_id=approval.agent_id,
        tool=approval.action.tool,
    )
    same = [
        one
        for one in found.data
        if not isinstance(one, CamelApprovalAnswer)
        and one.action.operation == approval.action.operation
        and one.id != approval.id
    ]
    return [(one, _covers(scope, one)) for one in same[:_SHOWN]]


def _covers(scope: Scope, one: ListedApprovalAnswer) -> bool | None:
    if not one.is_whole:
        return None
    params = one.action.params
    return scope.covers(params, b"") and scope.amount(params) is not None
