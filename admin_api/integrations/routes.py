"""/admin/settings/{integration}: one pair of routes for each row of the table, all made by the same code."""

import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Final

from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from admin_api.change import administer
from admin_api.deliveries.schemas import DeliveryAnswer, delivery_answer, delivery_answers
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies, dependencies_of, principal_of
from admin_api.errors import JSON
from admin_api.etag import IfMatch, expected_version
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ApprovalId, DeliveryId
from admin_api.integrations.schemas import (
    IntegrationTestAnswer,
    ReceiptAnswer,
    ReceiptsAnswer,
    answer_description,
    request_description,
)
from admin_api.pagination import CountedPage, CurrentPage, PageRequest, counted_page
from admin_api.principal import Principal
from admin_api.settings.versions import SettingVersionAnswer, versions_page
from headgate.audit.model import EventType
from headgate.deliveries.model import TargetKind
from headgate.deliveries.store import DeliveryFilter, attempts_of, list_deliveries
from headgate.integrations.adapters import account_of
from headgate.integrations.catalogue import SETTINGS
from headgate.integrations.form import parse_stored, record, require_members
from headgate.integrations.model import Integration
from headgate.integrations.platform_api import PlatformError
from headgate.integrations.service import Stored, load_secrets, load_stored, put_integration, redeliver, setting_name
from headgate.integrations.store import connection_of, list_receipts
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import NotFoundError
from headgate.organizations.stored_rules import destination_rules

router = APIRouter(route_class=GuardedRoute, tags=["settings"])


class SettingsRoutes(Struct, frozen=True):
    """The functions of one integration's settings."""

    get: Callable[[Request], Awaitable[Response]]
    put: Callable[[Request, str | None], Awaitable[Response]]
    test: Callable[[Principal, Dependencies], Awaitable[IntegrationTestAnswer]]


class HistoryRoutes(Struct, frozen=True):
    """The functions of what was set before, was sent to one integration and came in from it."""

    versions: Callable[[PageRequest, Principal, Dependencies], Awaitable[CountedPage[SettingVersionAnswer]]]
    deliveries: Callable[[PageRequest, Principal, Dependencies], Awaitable[CountedPage[DeliveryAnswer]]]
    again: Callable[[str, Principal, Dependencies], Awaitable[DeliveryAnswer]]
    receipts: Callable[[Principal, Dependencies], Awaitable[ReceiptsAnswer]]


def _add(integration: Integration) -> SettingsRoutes:
    """The routes of one integration. What is described of their bodies is what is checked."""
    path, cls, word = f"/admin/settings/{integration.value}", SETTINGS[integration], integration.name.lower()

    async def get(request: Request) -> Response:
        """Gets the settings, and which secrets are stored. Not set: ``configured`` false and the defaults."""
        dependencies, principal = dependencies_of(request), principal_of(request)
        async with dependencies.database.transaction(principal.org_id) as connection:
            stored = await load_stored(connection, principal.org_id, integration, dependencies.vault)
        return _answer(integration, stored)

    async def put(request: Request, if_match: IfMatch = None) -> Response:
        """Replaces the settings. Omitted secrets are kept. If-Match: only if they are still at that version."""
        dependencies, principal = dependencies_of(request), principal_of(request)
        expected = expected_version(if_match, None)
        document = parse_strict(await request.body())
        async with administer(principal, dependencies) as change:
            stored = await put_integration(change, integration, document, dependencies.vault)
            if expected is not None:
                expected.require(stored.setting.version - 1)  # what this raises undoes the change
        return _answer(integration, stored)

    async def test(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> IntegrationTestAnswer:
        """Asks the platform for the account name. Nothing is posted there."""
        async with administer(principal, dependencies) as change:
            stored = await load_stored(change.connection, principal.org_id, integration, dependencies.vault)
            if stored is None:
                raise NotFoundError(f"{integration} is not configured. Configure it with PUT {path}")
            require_members(stored.settings, "required to ask the platform")
            secrets = await load_secrets(change.connection, principal.org_id, integration, dependencies.vault)
            rules = await destination_rules(change.connection, principal.org_id)
            await change.record(EventType.SETTING_TESTED, {"name": integration.value})
        started = time.perf_counter()
        try:
            account = await account_of(stored.settings, secrets, dependencies.outgoing, rules, dependencies.clock)
        except PlatformError as error:
            return IntegrationTestAnswer(
                ok=False,
                account=None,
                error=error.failure,
                status_code=error.status,
                message=error.excerpt,
                latency_ms=_since(started),
            )
        return IntegrationTestAnswer(
            ok=True, account=account, error=None, status_code=None, message=None, latency_ms=_since(started)
        )

    described = answer_description(cls)
    router.add_api_route(
        path, get, methods=["GET"], response_class=Response, responses=described, name=f"get_{word}_settings"
    )
    router.add_api_route(
        path,
        put,
        methods=["PUT"],
        response_class=Response,
        responses=described,
        openapi_extra=request_description(cls),
        name=f"set_{word}_settings",
    )
    router.add_api_route(f"{path}/test", test, methods=["POST"], name=f"test_{word}")
    return SettingsRoutes(get, put, test)


def _add_history(integration: Integration) -> HistoryRoutes:
    """What was set before, what was sent there, and what came in."""
    path, word = f"/admin/settings/{integration.value}", integration.name.lower()

    async def versions(
        page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
    ) -> CountedPage[SettingVersionAnswer]:
        """Lists versions of the settings, newest first: when and by whom."""
        return await versions_page(dependencies, principal, setting_name(integration), page)

    async def deliveries(
        page: CurrentPage,
        principal: CurrentPrincipal,
        dependencies: CurrentDependencies,
        approval_id: ApprovalId | None = None,
    ) -> CountedPage[DeliveryAnswer]:
        """Lists outgoing messages, newest first, with all attempts."""
        wanted = DeliveryFilter(TargetKind.INTEGRATION, target_id=integration.value, subject_id=approval_id)
        async with dependencies.database.transaction(principal.org_id) as connection:
            found = await list_deliveries(connection, principal.org_id, wanted, limit=page.limit, offset=page.offset)
            attempts = await attempts_of(connection, principal.org_id, [one.delivery_id for one in found.deliveries])
        return counted_page(
            page, delivery_answers(found.deliveries, attempts), found.total, is_minimum=found.total_is_minimum
        )

    async def again(
        delivery_id: DeliveryId, principal: CurrentPrincipal, dependencies: CurrentDependencies
    ) -> DeliveryAnswer:
        """Sends a delivered, parked or cancelled message again; retries for one day."""
        async with administer(principal, dependencies) as change:
            delivery = await redeliver(change, integration, delivery_id)
            attempts = await attempts_of(change.connection, principal.org_id, [delivery_id])
        return delivery_answer(delivery, attempts.get(delivery_id, ()))

    async def receipts(
        principal: CurrentPrincipal,
        dependencies: CurrentDependencies,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> ReceiptsAnswer:
        """Lists relevant incoming messages with their outcomes, newest first. Kept for 90 days."""
        async with dependencies.database.transaction(principal.org_id) as connection:
            connection_id = await connection_of(connection, principal.org_id, integration)
            found = await list_receipts(connection, principal.org_id, connection_id or "", limit=limit)
        return ReceiptsAnswer(
            data=[
                ReceiptAnswer(
                    id=one.receipt_id,
                    received_at=one.received_at,
                    outcome=one.outcome,
                    approval_id=one.approval_id,
                    account=one.account,
                    message=one.message,
                )
                for one in found
            ]
        )

    router.add_api_route(f"{path}/versions", versions, methods=["GET"], name=f"list_{word}_versions")
    router.add_api_route(f"{path}/deliveries", deliveries, methods=["GET"], name=f"list_{word}_deliveries")
    router.add_api_route(
        f"{path}/deliveries/{{delivery_id}}/redeliver",
        again,
        methods=["POST"],
        status_code=202,
        name=f"redeliver_{word}",
    )
    router.add_api_route(f"{path}/receipts", receipts, methods=["GET"], name=f"list_{word}_receipts")
    return HistoryRoutes(versions, deliveries, again, receipts)


def _answer(integration: Integration, stored: Stored | None) -> Response:
    cls = SETTINGS[integration]
    shown: JsonObject = record(parse_stored(cls, {}) if stored is None else stored.settings)
    for name in cls.SECRETS:
        shown[f"has_{name}"] = stored is not None and name in stored.secrets
    connection_id = None if stored is None else stored.connection_id
    shown |= {
        "configured": stored is not None,
        "version": 0 if stored is None else stored.setting.version,
        "updated_at": None if stored is None else rfc3339(stored.setting.updated_at),
        "updated_by": None if stored is None else stored.setting.updated_by,
        "webhook_path": None if connection_id is None else f"/webhooks/{integration.value}/{connection_id}",
    }
    headers = {} if stored is None else {"ETag": f'"{stored.setting.version}"'}
    return Response(canonical_bytes(shown), media_type=JSON, headers=headers)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


ROUTES: Final[Mapping[Integration, tuple[SettingsRoutes, HistoryRoutes]]] = MappingProxyType(
    {one: (_add(one), _add_history(one)) for one in SETTINGS}
)
