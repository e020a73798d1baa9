"""Connections to Bluesky: an app password is asked for, and a session begun with it at once."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.connections.account import AccountChanged
from headgate.connections.bluesky import Session, create_session, parse_identifier
from headgate.connections.draft import parse_secure_url
from headgate.connections.model import Connection, ConnectionKind, Host
from headgate.connections.refresh import RefreshConnection
from headgate.connections.service import Binding, create_connection, rebind_connection
from headgate.connections.social_connection import Bound, of_platform, social_draft
from headgate.connections.store import get_connection, save_connection
from headgate.db import database
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.target import parse_target
from headgate.vault.service import Vault

BLUESKY: Final = "bluesky"


class ConnectBluesky:
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

    async def connect(
        self, by: Change, bound: Bound, service: str, identifier: str, app_password: Secret
    ) -> Connection:
        """Raises ValidationError (the service does not take it, too), ConflictError, UnavailableError."""
        identifier, service = parse_identifier(identifier), parse_secure_url("service", service).rstrip("/")
        session = await self._session(by, service, identifier, app_password)
        async with begin_change(self._database, by) as change:
            return await create_connection(
                change,
                social_draft(
                    bound,
                    BLUESKY,
                    ConnectionKind.BLUESKY,
                    hosts=_hosts(service, session),
                    account=session.handle,
                    settings=_settings(service, identifier, session),
                    secrets=_secrets(app_password, session),
                ),
                self._vault,
                expires_at=session.tokens.expires_at,
                refresh_at=session.tokens.refresh_at,
            )

    async def update(
        self, by: Change, connection_id: str, binding: Binding, identifier: str | None, app_password: Secret | None
    ) -> Connection:
        """Raises NotFoundError, ValidationError, ConflictError, UnavailableError."""
        async with self._database.transaction(by.org_id) as db:
            before = of_platform(await get_connection(db, by.org_id, connection_id), BLUESKY)
        if app_password is None:
            async with begin_change(self._database, by) as change:
                return await rebind_connection(change, connection_id, binding, self._vault)
        service = str(before.settings["service"])
        identifier = parse_identifier(identifier or str(before.settings["identifier"]))
        session = await self._session(by, service, identifier, app_password)
        async with begin_change(self._database, by) as change:
            after = await rebind_connection(
                change,
                connection_id,
                replace(
                    binding,
                    secrets=_secrets(app_password, session),
                    same_account=session.did == before.settings.get("did"),
                ),
                self._vault,
            )
            after = replace(
                after,
                hosts=_hosts(service, session),
                account=session.handle,
                settings=_settings(service, identifier, session),
                expires_at=session.tokens.expires_at,
                refresh_at=session.tokens.refresh_at,
            )
            await save_connection(change.connection, after)
            return await self._account_changed(change, before, after)

    async def _session(self, by: Change, service: str, identifier: str, app_password: Secret) -> Session:
        async with self._database.transaction(by.org_id) as db:
            rules = await destination_rules(db, by.org_id)
        return await create_session(service, identifier, app_password, self._refreshes.sender(rules), self._clock)


def _hosts(service: str, session: Session) -> tuple[Host, ...]:
    """Where the account lives, and where it was asked for."""
    urls = [service, *([] if session.service is None else [parse_secure_url("serviceEndpoint", session.service)])]
    targets = [parse_target(url) for url in urls]
    return tuple(dict.fromkeys(Host(one.host, one.port) for one in targets))


def _settings(service: str, identifier: str, session: Session) -> JsonObject:
    return {
        "service": service,
        "identifier": identifier,
        "did": session.did,
        "check_path": "/xrpc/com.atproto.server.getSession",
    }


def _secrets(app_password: Secret, session: Session) -> Mapping[str, Secret]:
    refresh = session.tokens.refresh_token
    secrets = {"app_password": app_password, "access_token": session.tokens.access_token}
    return secrets if refresh is None else {**secrets, "refresh_token": refresh}
