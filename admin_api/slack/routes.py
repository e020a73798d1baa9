"""POST /webhooks/slack/{connection_id}: Slack's interactivity endpoint. Its signature is the credential."""

from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import dependencies_of
from admin_api.description.parameters import FURTHER, id_in_path
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.ids import IdPrefix
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import require_allowed

router = APIRouter(route_class=GuardedRoute, tags=["webhooks"])


@router.post(
    "/webhooks/slack/{connection_id}",
    response_class=Response,
    openapi_extra={"parameters": [id_in_path("connection_id", IdPrefix.CONNECTION), FURTHER]},
)
async def interact(request: Request) -> Response:
    """Handles a button of a Slack message. Approves an approval request, or asks for a reason and denies it, as the
    user who belongs to the Slack account."""
    dependencies, connection_id = dependencies_of(request), str(request.path_params["connection_id"])
    verdict = await dependencies.rate_limiter.check(RateClass.WEBHOOKS, connection_id[:64])
    if verdict is not None:
        require_allowed(verdict)
    reply = await dependencies.inbound.slack.interact(
        connection_id,
        request.headers.get("x-slack-request-timestamp"),
        request.headers.get("x-slack-signature"),
        await request.body(),
    )
    background = None if reply.afterwards is None else BackgroundTask(reply.afterwards)
    if reply.body is None:
        return Response(status_code=200, background=background)
    return Response(canonical_bytes(reply.body), media_type=JSON, background=background)
