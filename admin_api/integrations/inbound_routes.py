"""POST /webhooks/{integration}/{connection_id}: what a platform sends. Its signature is the credential."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from admin_api.dependencies import Dependencies, dependencies_of
from admin_api.description.parameters import FURTHER, id_in_path, in_path
from admin_api.errors import JSON
from admin_api.guarded_route import GuardedRoute
from admin_api.request_state import request_state
from headgate.integrations.model import Integration
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.headers import rate_limit_headers, require_allowed

router = APIRouter(route_class=GuardedRoute, tags=["webhooks"])


@router.post(
    "/webhooks/{integration}/{connection_id}",
    response_class=Response,
    openapi_extra={
        "parameters": [
            in_path("integration", enum=[one.value for one in Integration if one is not Integration.SLACK]),
            id_in_path("connection_id", IdPrefix.CONNECTION),
            FURTHER,
        ]
    },
)
async def receive(request: Request) -> Response:
    """Receives a webhook of a platform. ``outcome``: decided, refused (the ticket says why), no_change, requested,
    repeated, ignored. Only the errors 429 and 503 ask for another delivery. github-actions: the response to ``{"token":
    …}`` of a workflow has ``agent_id``, ``api_key`` and ``expires_at``."""
    dependencies, connection_id = dependencies_of(request), str(request.path_params["connection_id"])
    verdict = await dependencies.rate_limiter.check(RateClass.WEBHOOKS, connection_id[:64])
    if verdict is not None:
        request_state(request.scope).headers = rate_limit_headers(verdict)
        require_allowed(verdict)
    try:
        integration = Integration(str(request.path_params["integration"]))
    except ValueError as error:
        raise NotFoundError("no such connection") from error
    return await _take(dependencies, integration, connection_id, request)


async def _take(dependencies: Dependencies, integration: Integration, connection_id: str, request: Request) -> Response:
    body = await request.body()
    match integration:
        case Integration.GITHUB_ACTIONS:
            exchanged = await dependencies.inbound.workflow_tokens.exchange(connection_id, body)
            answer: JsonObject = {
                "agent_id": exchanged.agent_id,
                "api_key": exchanged.key.reveal(),
                "expires_at": rfc3339(exchanged.expires_at),
            }
        case Integration.DISCORD:
            answer = await dependencies.inbound.discord.interact(connection_id, request.headers, body)
        case Integration.GITHUB:
            answer = {"outcome": await dependencies.inbound.github.receive(connection_id, request.headers, body)}
        case _:
            received = dependencies.inbound.tracker.receive(integration, connection_id, request.headers, body)
            answer = {"outcome": await received}
    return Response(canonical_bytes(answer), media_type=JSON)
