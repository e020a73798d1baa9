"""/v1/mcp-tools/offer: which tools of a server that an agent runs itself it is offered."""

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.mcp_tools.schemas import LeftOutAnswer, OfferAnswer, OfferRequest
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError, ForbiddenError, ValidationError
from headgate.protocols.mcp_tool_list import read_tool_list

router = APIRouter(route_class=GuardedRoute, tags=["mcp-tools"])


@router.post("/v1/mcp-tools/offer")
async def offer(body: OfferRequest, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> OfferAnswer:
    """Says which tools of a list the agent is offered, and pins their definitions. Nothing is permitted by it: each
    call is submitted as an action."""
    if principal.key is None or principal.identity is None or principal.agent_id is None:
        raise ForbiddenError("Listing tools requires an agent key.")
    try:
        listed = read_tool_list(canonical_bytes({"result": {"tools": body.tools}}), is_stream=False)
    except AmbiguousRequestError as error:
        raise ValidationError(f"tools: {error.message}", details={"field": "tools"}) from error
    offered, said = await dependencies.offer_tools.offer(principal.key, principal.identity, body.server, listed.tools)
    return OfferAnswer(
        left_out=[
            LeftOutAnswer(name=name, policy_id=decision.policy_id, reason=decision.reason)
            for name, decision in offered.denied.items()
        ],
        first_seen=offered.first_seen,
        changed=sorted(offered.changed),
        withheld=said.withheld,
        policies=said.details(),
    )
