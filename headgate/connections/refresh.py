"""A new credential in place of the old one, by one process at a time, and never lost once a platform has given it.

A refresh token that rotates works once (RFC 9700, section 4.14.2): two processes that use it at the same time look
like a theft, and the platform ends the whole consent. So whoever asks takes a lease on the connection's row, durable
before the request leaves; the others wait until the version of the secret moves. What came back is written until it is
durable.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Actor, EventType
from headgate.connections.bluesky import Send, refresh_session
from headgate.connections.credential import KeptSecrets
from headgate.connections.model import Connection, ConnectionKind, ConnectionStatus
from headgate.connections.oauth import (
    OAuthClient,
    TokenAnswer,
    TokenRefusedError,
    TokenUnavailableError,
    client_credentials_request,
    read_token,
    refresh_request,
)
from headgate.connections.service import CHECK_EVERY, kept_secrets, record
from headgate.connections.store import end_lease, get_connection, save_connection, take_lease
from headgate.db import database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingLimits, OutgoingRequest, OutgoingResponse
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

REQUEST_LIMITS: Final = OutgoingLimits(deadline_seconds=15.0, response_max_bytes=64 * 1024)
_LEASE: Final = timedelta(seconds=45)
_WAIT_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.1
_WRITE_ATTEMPTS: Final = 60
_RETRY_FIRST: Final = timedelta(seconds=5)
_RETRY_LAST: Final = timedelta(minutes=5)
_REFRESHED: Final = frozenset({ConnectionKind.OAUTH2, ConnectionKind.CLIENT_CREDENTIALS, ConnectionKind.BLUESKY})


class RefreshConnection:
    """Of one process."""

    def __init__(self, db: database.Database, vault: Vault, client: OutgoingClient, clock: Clock) -> None:
        self._database = db
        self._vault = vault
        self._client = client
        self._clock = clock

    async def refresh(
        self, org_id: str, connection_id: str, *, actor: Actor = SYSTEM, seen_version: int | None = None
    ) -> Connection:
        """The connection with its new credential, or with one that somebody else has got since ``seen_version``.

        Raises NotFoundError, ConflictError (there is nothing to refresh it with), TokenRefusedError (it is broken from
        now on), UnavailableError.
        """
        lease = new_id(IdPrefix.CONNECTION)
        deadline = asyncio.get_running_loop().time() + _WAIT_SECONDS
        while True:
            now = self._clock()
            async with self._database.transaction(org_id) as db:
                connection = await get_connection(db, org_id, connection_id)
                seen_version = connection.secret_version if seen_version is None else seen_version
                if connection.secret_version != seen_version:
                    return connection
                secrets = await kept_secrets(db, connection, self._vault)
                _require_refreshable(connection, secrets)
                rules = await destination_rules(db, org_id)
                if await take_lease(db, org_id, connection_id, lease, seen_version=seen_version, at=now, held=_LEASE):
                    break
            if asyncio.get_running_loop().time() > deadline:
                raise UnavailableError(
                    "Another process is refreshing this credential. Try again.", retry_after_seconds=5
                )
            await asyncio.sleep(_LOOK_SECONDS)
        try:
            answer = await self._ask(connection, secrets, rules)
        except TokenRefusedError as error:
            reason = error.message
            await self._until_written(lambda: self._broke(connection, lease, actor, reason))
            raise
        except TokenUnavailableError as error:
            reason = error.message
            await self._until_written(lambda: self._failed(connection, lease, reason))
            raise
        return await self._until_written(lambda: self._store(connection, secrets, answer, lease, actor))

    async def _ask(self, connection: Connection, secrets: KeptSecrets, rules: DestinationRules) -> TokenAnswer:
        send = self.sender(rules)
        if connection.kind is ConnectionKind.BLUESKY:
            return await refresh_session(connection, secrets, send, self._clock)
        client = oauth_client(connection, secrets)
        if connection.kind is ConnectionKind.CLIENT_CREDENTIALS:
            return read_token(await send(client_credentials_request(client, connection.scopes)), self._clock())
        try:
            return read_token(await send(refresh_request(client, secrets.need("refresh_token"))), self._clock())
        except TokenRefusedError:
            # Whoever had the lease before may have died between the platform's answer and our database: where a
            # platform lets the one before work for a while, it still does.
            if (previous := secrets.get("previous_refresh_token")) is None:
                raise
            return read_token(await send(refresh_request(client, previous)), self._clock())

    def sender(self, rules: DestinationRules) -> Send:
        """Sends within the limits of such requests; what has no answer is TokenUnavailableError."""

        async def send(request: OutgoingRequest) -> OutgoingResponse:
            try:
                return await self._client.send(request, rules, REQUEST_LIMITS)
            except OutgoingError as error:
                raise TokenUnavailableError(f"the platform did not answer: {error.message}") from error

        return send

    async def _until_written[T](self, write: Callable[[], Awaitable[T]]) -> T:
        """A token that was given and not kept is a consent that is lost."""
        for attempt in range(_WRITE_ATTEMPTS):
            try:
                return await write()
            except UnavailableError:
                if attempt == _WRITE_ATTEMPTS - 1:
                    raise
                await asyncio.sleep(0.5)
        raise UnavailableError("not reached")

    async def _store(
        self, connection: Connection, secrets: KeptSecrets, answer: TokenAnswer, lease: str, actor: Actor
    ) -> Connection:
        async with begin_change(self._database, Change(connection.org_id, actor, None, self._clock())) as change:
            now_is = await get_connection(change.connection, connection.org_id, connection.connection_id, lock=True)
            await end_lease(change.connection, connection.org_id, connection.connection_id, lease)
            if now_is.secret_version != connection.secret_version:
                return now_is  # somebody has connected it anew meanwhile: theirs is newer
            return await store_token(change, now_is, secrets, answer, self._vault)

    async def _broke(self, connection: Connection, lease: str, actor: Actor, reason: str) -> None:
        async with begin_change(self._database, Change(connection.org_id, actor, None, self._clock())) as change:
            now_is = await get_connection(change.connection, connection.org_id, connection.connection_id, lock=True)
            await end_lease(change.connection, connection.org_id, connection.connection_id, lease)
            if now_is.secret_version == connection.secret_version:
                await break_connection(change, now_is, reason)

    async def _failed(self, connection: Connection, lease: str, reason: str) -> None:
        """It goes on with what it has; tried again soon, and ever more seldom."""
        async with self._database.transaction(connection.org_id) as db:
            now_is = await get_connection(db, connection.org_id, connection.connection_id, lock=True)
            await end_lease(db, connection.org_id, connection.connection_id, lease)
            failures = now_is.failures + 1
            pause = min(_RETRY_FIRST * 2 ** min(failures - 1, 10), _RETRY_LAST)
            after = replace(now_is, failures=failures, status_reason=reason[:500], refresh_at=self._clock() + pause)
            await save_connection(db, after)
        _log.warning("connection_not_refreshed", connection_id=connection.connection_id, reason=reason)


def oauth_client(connection: Connection, secrets: KeptSecrets) -> OAuthClient:
    settings = connection.settings
    return OAuthClient(
        client_id=str(settings["client_id"]),
        secret=secrets.get("client_secret"),
        token_url=str(settings["token_url"]),
        authentication=str(settings.get("client_authentication", "header")),
        body_format=str(settings.get("body_format", "form")),
    )


async def store_token(
    change: OrganizationChange,
    connection: Connection,
    secrets: KeptSecrets,
    answer: TokenAnswer,
    vault: Vault,
    *,
    event: EventType = EventType.CONNECTION_REFRESHED,
) -> Connection:
    """The new tokens in the vault, the refresh token before this one beside them, and the connection active.

    Whose account they are is ``connection``'s to say: refreshing changes nothing of it."""
    values = {**secrets.values, "access_token": answer.access_token.reveal()}
    if answer.refresh_token is not None and answer.refresh_token != secrets.get("refresh_token"):
        values["refresh_token"] = answer.refresh_token.reveal()
        if (before := secrets.get("refresh_token")) is not None:
            values["previous_refresh_token"] = before.reveal()
    await vault.keep(change.connection, change.org_id, connection.vault_name, KeptSecrets(values).text())
    can_refresh = connection.kind is ConnectionKind.CLIENT_CREDENTIALS or "refresh_token" in values
    recovers = connection.status is not ConnectionStatus.ACTIVE
    after = replace(
        connection,
        status=ConnectionStatus.ACTIVE,
        status_reason=None,
        failures=0,
        scopes=connection.scopes if answer.scopes is None else answer.scopes,
        secret_version=connection.secret_version + 1,
        revision=connection.revision + (1 if recovers or event is not EventType.CONNECTION_REFRESHED else 0),
        expires_at=answer.expires_at,
        refresh_at=answer.refresh_at if can_refresh else None,
        check_at=connection.check_at or change.at + CHECK_EVERY,
        updated_at=change.at,
    )
    await save_connection(change.connection, after)
    if after.revision != connection.revision:
        await change.raise_generation()
    await record(change, event, after, secret_version=after.secret_version)
    if connection.status is ConnectionStatus.BROKEN:
        await record(change, EventType.CONNECTION_RECOVERED, after)
    return after


async def break_connection(change: OrganizationChange, connection: Connection, reason: str) -> Connection:
    """Every call that needs it is refused from the next decision on, and its owner is told."""
    after = replace(
        connection,
        status=ConnectionStatus.BROKEN,
        status_reason=reason[:500],
        failures=connection.failures + 1,
        revision=connection.revision + 1,
        refresh_at=None,
        updated_at=change.at,
    )
    await save_connection(change.connection, after)
    await change.raise_generation()
    if connection.status is not ConnectionStatus.BROKEN:
        told = f"{connection.name} ({connection.platform}): {reason}"[:500]
        await record(change, EventType.CONNECTION_BROKEN, after, reason=told, owner=connection.owner_id)
    return after


def _require_refreshable(connection: Connection, secrets: KeptSecrets) -> None:
    if connection.kind not in _REFRESHED:
        raise ConflictError(f"A credential of kind {connection.kind.value} cannot be refreshed. Replace it.")
    if connection.kind is ConnectionKind.OAUTH2 and secrets.get("refresh_token") is None:
        raise ConflictError("The platform issued no refresh token. Connect it again when it expires.")


def is_due(moment: datetime | None, at: datetime) -> bool:
    return moment is not None and moment <= at
