"""/admin/notifications: every message to people, and how it went. ``nobody``: what reached no channel."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from admin_api.change import administer
from admin_api.deliveries.schemas import DeliveryAnswer, delivery_answer, delivery_answers
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import DeliveryId, DeliverySubjectId
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from headgate.deliveries.model import DeliveryStatus, TargetKind
from headgate.deliveries.store import DeliveryFilter, attempts_of, get_delivery, list_deliveries
from headgate.notifications.service import redeliver

router = APIRouter(route_class=GuardedRoute, tags=["notifications"])

_KIND: Final = TargetKind.CHANNEL


@router.get("/admin/notifications", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
    channel: Annotated[str | None, Query(max_length=64)] = None,
    status: DeliveryStatus | None = None,
    event: Annotated[str | None, Query(max_length=64)] = None,
    subject_id: Annotated[
        DeliverySubjectId | None, Query(description="The id of an approval, action or invitation.")
    ] = None,
) -> CountedPage[DeliveryAnswer]:
    """Lists notification messages, newest first, with all attempts."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        found = await list_deliveries(
            connection,
            org_id,
            DeliveryFilter(_KIND, channel, status, event, subject_id),
            limit=page.limit,
            offset=page.offset,
            exact_total=page.exact_total,
        )
        attempts = await attempts_of(connection, org_id, [one.delivery_id for one in found.deliveries])
    return counted_page(
        page, delivery_answers(found.deliveries, attempts), found.total, is_minimum=found.total_is_minimum
    )


@router.get("/admin/notifications/{delivery_id}")
async def get(
    delivery_id: DeliveryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeliveryAnswer:
    """Gets one notification message, with all delivery attempts."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        delivery = await get_delivery(connection, org_id, _KIND, delivery_id)
        attempts = await attempts_of(connection, org_id, [delivery_id])
    return delivery_answer(delivery, attempts.get(delivery_id, []))


@router.post("/admin/notifications/{delivery_id}/redeliver", status_code=202)
async def send_again(
    delivery_id: DeliveryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> DeliveryAnswer:
    """Sends a notification message again, with new text and a new link; retries for one day. 409 if it is pending."""
    async with administer(principal, dependencies) as change:
        delivery = await redeliver(change, delivery_id)
        attempts = await attempts_of(change.connection, change.org_id, [delivery_id])
    return delivery_answer(delivery, attempts.get(delivery_id, []))
