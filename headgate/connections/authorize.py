"""A person consents at a platform, and a connection comes of it: the state is theirs alone, and works once.

The callback must come from who began (the person or key that the API has authenticated), carries the state that only
their browser was given, and redeems the code with the verifier that never left the vault (RFC 7636). A code or a state
that another person's browser was made to bring (CSRF, code injection; RFC 9700, sections 4.5 and 4.7) redeems nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.connections.account import AccountChanged, account_request, account_since, read_account
from headgate.connections.credential import KeptSecrets
from headgate.connections.draft import ConnectionDraft, invalid
from headgate.connections.flow_store import Flow, insert_flow, use_flow
from headgate.connections.model import Connection, ConnectionKind, ConnectionStatus
from headgate.connections.oauth import (
    FLOW_LIFETIME,
    TokenUnavailableError,
    authorization_url,
    code_request,
    new_state,
    new_verifier,
    read_token,
    state_hash,
)
from headgate.connections.platforms import Platform, find_platform
from headgate.connections.refresh import RefreshConnection, oauth_client, store_token
from headgate.connections.service import create_connection, kept_secrets
from headgate.connections.store import get_connection, save_connection
from headgate.db import database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, HeadgateError, UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import OrganizationChange, begin_change
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stored_rules import destination_rules
from headgate.vault.service import Vault

_ERROR_MAX: Final = 200


class Begun(Struct, frozen=True):
    """Where the person's browser goes next. ``scopes`` is what they will be asked to consent to."""

    connection: Connection
    authorization_url: str
    state: Secret
    redirect_uri: str
    scopes: tuple[str, ...]
    expires_at: datetime


class Returned(Struct, frozen=True):
    """What the browser brings back (RFC 6749, section 4.1.2; ``issuer``: RFC 9207)."""

    state: Secret
    code: str | None
    error: str | None
    error_description: str | None
    issuer: str | None
    redirect_uri: str | None


class AuthorizeConnection:
    """Of one process."""

    def __init__(
        self,
        db: database.Database,
        vault: Vault,
        refreshes: RefreshConnection,
        clock: Clock,
        account_changed: AccountChanged,
    ) -> None:
        self._account_changed = account_changed
        self._database = db
        self._vault = vault
        self._refreshes = refreshes
        self._clock = clock

    async def begin(self, by: Change, draft: ConnectionDraft, platform: Platform, redirect_uri: str) -> Begun:
        """A pending connection. Raises ValidationError, ConflictError, UnavailableError."""
        async with begin_change(self._database, by) as change:
            connection = await create_connection(change, draft, self._vault, status=ConnectionStatus.PENDING)
            return await self._begin(change, connection, platform, redirect_uri)

    async def begin_again(self, by: Change, connection_id: str, platform: Platform, redirect_uri: str) -> Begun:
        """For one that is pending or broken, or is to be renewed; until the callback it stays as it is.

        Raises NotFoundError, ConflictError, UnavailableError.
        """
        async with begin_change(self._database, by) as change:
            connection = await get_connection(change.connection, change.org_id, connection_id)
            if connection.kind is not ConnectionKind.OAUTH2 or connection.platform != platform.name:
                raise ConflictError(f"The connection {connection.name} is not an OAuth connection to {platform.name}.")
            return await self._begin(change, connection, platform, redirect_uri)

    async def _begin(
        self, change: OrganizationChange, connection: Connection, platform: Platform, redirect_uri: str
    ) -> Begun:
        state, verifier = new_state(), new_verifier()
        issuer = connection.settings.get("issuer")
        flow = Flow(
            change.org_id,
            state_hash(state),
            connection.connection_id,
            _session_of(change),
            redirect_uri,
            issuer if isinstance(issuer, str) else None,
            change.at,
            change.at + FLOW_LIFETIME,
        )
        await insert_flow(change.connection, flow)
        await self._vault.keep(change.connection, change.org_id, flow.vault_name, verifier)
        url = authorization_url(
            str(connection.settings["authorization_url"]),
            client_id=str(connection.settings["client_id"]),
            redirect_uri=redirect_uri,
            scope=platform.scope_separator.join(connection.scopes),
            state=state,
            verifier=verifier,
            parameters=platform.parameters,
        )
        return Begun(connection, url, state, redirect_uri, connection.scopes, flow.expires_at)

    async def finish(self, by: Change, returned: Returned) -> Connection:
        """The connection, active. Raises ValidationError (the state is not theirs, unknown, used or late; the platform
        said no), NotFoundError (the connection was removed meanwhile), UnavailableError."""
        async with self._database.transaction(by.org_id) as db:
            flow = await use_flow(db, by.org_id, state_hash(returned.state), started_by=_session_of(by), at=by.at)
            if flow is None:
                raise invalid(
                    "state", "is unknown, used or expired, or belongs to another person. Start the connection again."
                )
            verifier = (await self._vault.open(db, by.org_id, [flow.vault_name])).get(flow.vault_name)
            await self._vault.forget(db, by.org_id, flow.vault_name)
            connection = await get_connection(db, by.org_id, flow.connection_id)
            secrets = await self._secrets(db, connection)
            rules = await destination_rules(db, by.org_id)
        # The state is used up from here on, whatever comes.
        try:
            code = _code_of(returned, flow)
            if verifier is None:
                raise UnavailableError("The data of this consent is no longer stored. Start the connection again.")
            request = code_request(
                oauth_client(connection, secrets), code=code, redirect_uri=flow.redirect_uri, verifier=verifier
            )
            answer = read_token(await self._refreshes.sender(rules)(request), self._clock())
            account = await self._account(connection, answer.access_token, rules)
        except HeadgateError as error:
            await self._say_why(by, flow.connection_id, error.message)
            raise
        async with begin_change(self._database, by) as change:
            now_is = await get_connection(change.connection, change.org_id, flow.connection_id, lock=True)
            # A refresh token of an earlier consent is no good any more.
            kept = KeptSecrets({name: one for name, one in secrets.values.items() if "refresh" not in name})
            theirs = replace(now_is, account=account, account_since=account_since(now_is, account, change.at))
            after = await store_token(change, theirs, kept, answer, self._vault, event=EventType.CONNECTION_AUTHORIZED)
            return await self._account_changed(change, now_is, after)

    async def _account(self, connection: Connection, token: Secret, rules: DestinationRules) -> str | None:
        """Whose consent it is; None: the platform does not say, or not now."""
        platform = find_platform(connection.platform)
        request = account_request(connection, platform, token)
        if request is None:
            return None
        try:
            return read_account(platform, await self._refreshes.sender(rules)(request))
        except TokenUnavailableError:
            return None

    async def _secrets(self, db: database.Connection, connection: Connection) -> KeptSecrets:
        """A public client has none before its first token."""
        if connection.secret_version == 0:
            return KeptSecrets()
        return await kept_secrets(db, connection, self._vault)

    async def _say_why(self, by: Change, connection_id: str, reason: str) -> None:
        async with self._database.transaction(by.org_id) as db:
            connection = await get_connection(db, by.org_id, connection_id, lock=True)
            if connection.status is ConnectionStatus.PENDING:
                await save_connection(db, replace(connection, status_reason=reason[:500], updated_at=by.at))


def oauth_settings(platform: Platform, client_id: str, given: Mapping[str, str]) -> JsonObject:
    """What a connection keeps of where it consents and refreshes. ``given``: addresses of its own.

    Raises ValidationError.
    """
    settings: JsonObject = {
        "client_id": client_id,
        "client_authentication": platform.client_authentication,
        "body_format": platform.body_format,
    }
    known = {"authorization_url": platform.authorization_url, "token_url": platform.token_url}
    for name in ("authorization_url", "token_url"):
        url = given.get(name) or known[name]
        if url is None:
            raise invalid(name, f"is required: {platform.name} has no default hosts")
        settings[name] = url
    if (issuer := given.get("issuer") or platform.issuer) is not None:
        settings["issuer"] = issuer
    if (check_path := given.get("check_path") or platform.check_path) is not None:
        settings["check_path"] = check_path
    return settings


def _session_of(by: Change) -> str:
    return f"{by.actor.type.value} {by.actor.id}"


def _code_of(returned: Returned, flow: Flow) -> str:
    """Raises ValidationError."""
    if returned.redirect_uri is not None and returned.redirect_uri != flow.redirect_uri:
        raise invalid("redirect_uri", "differs from the redirect URI of the consent request")
    if flow.issuer is not None and returned.issuer is not None and returned.issuer != flow.issuer:
        # Mix-up: another server's answer for this one's question (RFC 9207, section 2.4).
        raise invalid("iss", "the response came from another issuer")
    if returned.error is not None:
        said = " ".join(one for one in (returned.error, returned.error_description) if one)
        shown = "".join(one for one in said[:_ERROR_MAX] if one.isascii() and one.isprintable())
        raise ValidationError(f"the platform refused consent: {shown}", details={"field": "error", "reason": shown})
    if returned.code is None:
        raise invalid("code", "is required without error")
    return returned.code
