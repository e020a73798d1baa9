"""/admin/webhooks: who is told what happens, with which secret, and how every message went."""

from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query

from admin_api.change import administer
from admin_api.deleted import DeletedAnswer
from admin_api.deliveries.schemas import DeliveryAnswer, delivery_answer, delivery_answers
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import DeliveryId, DeliverySubjectId, WebhookId
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from admin_api.webhooks.schemas import (
    EndpointAnswer,
    EndpointChange,
    EndpointWithSecretAnswer,
    NewEndpoint,
    SecretRotation,
    endpoint_answer,
    endpoint_with_secret,
)
from headgate.deliveries.model import DeliveryStatus, TargetKind
from headgate.deliveries.store import DeliveryFilter, attempts_of, get_delivery, list_deliveries
from headgate.kernel.errors import NotFoundError
from headgate.webhooks.model import WebhookEvent, parse_events
from headgate.webhooks.service import (
    EndpointDraft,
    create_endpoint,
    redeliver,
    remove_endpoint,
    rotate_secret,
    send_test,
    update_endpoint,
)
from headgate.webhooks.store import get_endpoint, list_endpoints

router = APIRouter(route_class=GuardedRoute, tags=["webhooks"])

_KIND: Final = TargetKind.WEBHOOK


@router.post("/admin/webhooks", status_code=201)
async def create(
    body: NewEndpoint, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> EndpointWithSecretAnswer:
    """Creates a webhook endpoint. Only this response shows its secret."""
    draft = EndpointDraft(body.url, body.description, parse_events(body.events), body.enabled)
    async with administer(principal, dependencies) as change:
        endpoint, secret = await create_endpoint(change, draft, dependencies.vault)
    return endpoint_with_secret(endpoint, secret)


@router.get("/admin/webhooks", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[EndpointAnswer]:
    """Lists webhook endpoints, newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        endpoints = await list_endpoints(connection, principal.org_id)
    shown = endpoints[page.offset : page.offset + page.limit]
    return counted_page(page, [endpoint_answer(one) for one in shown], len(endpoints), is_minimum=False)


@router.get("/admin/webhooks/{webhook_id}")
async def get(webhook_id: WebhookId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> EndpointAnswer:
    """Gets one webhook endpoint, without its secret."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return endpoint_answer(await get_endpoint(connection, principal.org_id, webhook_id))


@router.patch("/admin/webhooks/{webhook_id}")
async def update(
    webhook_id: WebhookId, body: EndpointChange, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> EndpointAnswer:
    """Updates a webhook endpoint. Enabling an endpoint that Headgate disabled clears the reason. Events from the
    disabled time are not sent later."""
    given = body.model_fields_set
    async with administer(principal, dependencies) as change:
        before = await get_endpoint(change.connection, principal.org_id, webhook_id)
        draft = EndpointDraft(
            url=before.url if body.url is None else body.url,
            description=body.description if "description" in given else before.description,
            events=before.events if body.events is None else parse_events(body.events),
            enabled=before.enabled if body.enabled is None else body.enabled,
        )
        return endpoint_answer(await update_endpoint(change, webhook_id, draft))


@router.delete("/admin/webhooks/{webhook_id}")
async def delete(
    webhook_id: WebhookId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeletedAnswer:
    """Deletes a webhook endpoint, its pending deliveries and its secrets."""
    async with administer(principal, dependencies) as change:
        await remove_endpoint(change, webhook_id, dependencies.vault)
    return DeletedAnswer(id=webhook_id)


@router.post("/admin/webhooks/{webhook_id}/rotate-secret")
async def rotate(
    webhook_id: WebhookId,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    body: SecretRotation | None = None,
) -> EndpointWithSecretAnswer:
    """Creates a new secret and shows it, once. During the overlap, messages carry both signatures."""
    overlap = timedelta(seconds=(body or SecretRotation()).overlap_seconds)
    async with administer(principal, dependencies) as change:
        endpoint, secret = await rotate_secret(change, webhook_id, overlap, dependencies.vault)
    return endpoint_with_secret(endpoint, secret)


@router.post("/admin/webhooks/{webhook_id}/test", status_code=202)
async def test(webhook_id: WebhookId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> DeliveryAnswer:
    """Sends a ``webhook.test``, also to a disabled endpoint. The delivery shows the result."""
    async with administer(principal, dependencies) as change:
        delivery = await send_test(change, webhook_id)
    return delivery_answer(delivery, [])


@router.get("/admin/webhooks/{webhook_id}/deliveries", response_model_exclude_unset=True)
async def list_of_endpoint(
    webhook_id: WebhookId,
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    status: DeliveryStatus | None = None,
    event: WebhookEvent | None = None,
    subject_id: Annotated[DeliverySubjectId | None, Query(description="The id of an approval or action.")] = None,
) -> CountedPage[DeliveryAnswer]:
    """Lists the deliveries of an endpoint, newest first, with all attempts."""
    org_id = principal.org_id
    wanted = DeliveryFilter(_KIND, webhook_id, status, None if event is None else event.value, subject_id)
    async with dependencies.database.transaction(org_id) as connection:
        await get_endpoint(connection, org_id, webhook_id)
        found = await list_deliveries(
            connection, org_id, wanted, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
        attempts = await attempts_of(connection, org_id, [one.delivery_id for one in found.deliveries])
    return counted_page(
        page, delivery_answers(found.deliveries, attempts), found.total, is_minimum=found.total_is_minimum
    )


@router.get("/admin/webhooks/{webhook_id}/deliveries/{delivery_id}")
async def get_one(
    webhook_id: WebhookId, delivery_id: DeliveryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeliveryAnswer:
    """Gets one delivery, with all attempts and their responses."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        delivery = await get_delivery(connection, org_id, _KIND, delivery_id)
        attempts = await attempts_of(connection, org_id, [delivery.delivery_id])
    if delivery.target_id != webhook_id:
        raise NotFoundError(f"no delivery {delivery.delivery_id}")
    return delivery_answer(delivery, attempts.get(delivery.delivery_id, []))


@router.post("/admin/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=202)
async def send_again(
    webhook_id: WebhookId, delivery_id: DeliveryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeliveryAnswer:
    """Sends the same message again with the same id; retries for one day. 409 if it is pending."""
    async with administer(principal, dependencies) as change:
        delivery = await redeliver(change, webhook_id, delivery_id)
        attempts = await attempts_of(change.connection, change.org_id, [delivery.delivery_id])
    return delivery_answer(delivery, attempts.get(delivery.delivery_id, []))
