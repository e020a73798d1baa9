"""Connections to an instance of Mastodon: by a token that somebody has, or by consent to an application made there."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.change import Change
from headgate.connections.account import AccountChanged
from headgate.connections.authorize import AuthorizeConnection, Begun, oauth_settings
from headgate.connections.check import CheckConnection
from headgate.connections.mastodon import (
    INSTANCE_PATH,
    VERIFY_PATH,
    Account,
    find_account,
    origin,
    parse_instance,
    read_account,
    read_object,
    read_value,
    register_application,
    statuses_path,
)
from headgate.connections.model import Connection, ConnectionKind, Host
from headgate.connections.platforms import find_platform
from headgate.connections.refresh import RefreshConnection
from headgate.connections.service import Binding, create_connection, rebind_connection
from headgate.connections.social_connection import Bound, of_platform, social_draft
from headgate.connections.store import get_connection, save_connection
from headgate.db import database
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.stored_rules import destination_rules
from headgate.outgoing.model import OutgoingError
from headgate.vault.service import Vault

MASTODON: Final = "mastodon"


class InstanceStatus(Struct, frozen=True):
    account: Account
    instance: str
    title: str | None
    version: str | None


class ConnectMastodon:
    """Of one process."""

    def __init__(
        self,
        db: database.Database,
        vault: Vault,
        refreshes: RefreshConnection,
        authorizes: AuthorizeConnection,
        checks: CheckConnection,
        account_changed: AccountChanged,
    ) -> None:
        self._account_changed = account_changed
        self._database = db
        self._vault = vault
        self._refreshes = refreshes
        self._authorizes = authorizes
        self._checks = checks

    async def connect(self, by: Change, bound: Bound, instance: str, token: Secret) -> Connection:
        """With the access token of an application of one's own.

        Raises ValidationError (the instance does not take it, too), ConflictError, UnavailableError.
        """
        host = parse_instance(instance)
        account = await self._account(by, host, token)
        async with begin_change(self._database, by) as change:
            draft = social_draft(
                bound,
                MASTODON,
                ConnectionKind.BEARER,
                hosts=(host,),
                account=account.acct,
                settings={"check_path": VERIFY_PATH, "instance": str(host)},
                secrets={"secret": token},
            )
            return await create_connection(change, draft, self._vault)

    async def register(
        self, by: Change, bound: Bound, instance: str, redirect_uri: str, scopes: Sequence[str]
    ) -> Begun:
        """An application at the instance, and where its owner consents. Raises as ``connect``."""
        host, platform = parse_instance(instance), find_platform(MASTODON)
        wanted = tuple(scopes) or platform.scopes
        async with self._database.transaction(by.org_id) as db:
            rules = await destination_rules(db, by.org_id)
        send = self._refreshes.sender(rules)
        application = await register_application(host, redirect_uri, wanted, send)
        addresses = {"authorization_url": f"{origin(host)}/oauth/authorize", "token_url": f"{origin(host)}/oauth/token"}
        draft = social_draft(
            bound,
            MASTODON,
            ConnectionKind.OAUTH2,
            hosts=(host,),
            account=None,
            settings={**oauth_settings(platform, application.client_id, addresses), "instance": str(host)},
            secrets={"client_secret": application.client_secret},
        )
        return await self._authorizes.begin(by, replace(draft, scopes=wanted), platform, redirect_uri)

    async def update(self, by: Change, connection_id: str, binding: Binding, token: Secret | None) -> Connection:
        """Raises NotFoundError, ValidationError, ConflictError, UnavailableError."""
        async with self._database.transaction(by.org_id) as db:
            before = of_platform(await get_connection(db, by.org_id, connection_id), MASTODON)
        if token is not None:
            if before.kind is not ConnectionKind.BEARER:
                raise ConflictError("the connection was created by consent. To get a new token, renew the consent")
            account = await self._account(by, before.hosts[0], token)
            binding = replace(binding, secrets={"secret": token}, same_account=account.acct == before.account)
            before = replace(before, account=account.acct)
        async with begin_change(self._database, by) as change:
            after = replace(
                await rebind_connection(change, connection_id, binding, self._vault), account=before.account
            )
            await save_connection(change.connection, after)
            return await self._account_changed(change, before, after)

    async def _account(self, by: Change, host: Host, token: Secret) -> Account:
        async with self._database.transaction(by.org_id) as db:
            rules = await destination_rules(db, by.org_id)
        return await find_account(host, token, self._refreshes.sender(rules))

    async def status(self, org_id: str, connection_id: str) -> InstanceStatus:
        """Raises NotFoundError, ConflictError, ValidationError (the instance refuses), UnavailableError."""
        connection, account = await self._read(org_id, connection_id, VERIFY_PATH)
        _, instance = await self._read(org_id, connection_id, INSTANCE_PATH)
        shown = instance if isinstance(instance, dict) else {}
        title, version = shown.get("title"), shown.get("version")
        return InstanceStatus(
            account=read_account(account if isinstance(account, dict) else {}, connection.hosts[0]),
            instance=str(connection.hosts[0]),
            title=title[:200] if isinstance(title, str) else None,
            version=version[:100] if isinstance(version, str) else None,
        )

    async def statuses(self, org_id: str, connection_id: str, status_ids: Sequence[str]) -> list[JsonValue]:
        """Several statuses at once, as this account sees them; it only reads: what an agent posts is decided.

        Raises as ``status``.
        """
        _, found = await self._read(org_id, connection_id, statuses_path(status_ids))
        return found if isinstance(found, list) else []

    async def _read(self, org_id: str, connection_id: str, path: str) -> tuple[Connection, JsonValue]:
        async with self._database.transaction(org_id) as db:
            connection = of_platform(await get_connection(db, org_id, connection_id), MASTODON)
            rules = await destination_rules(db, org_id)
        try:
            response = await self._checks.read(connection, path, rules)
        except OutgoingError as error:
            raise UnavailableError(f"the instance did not answer: {error.message}") from error
        return connection, read_object(response) if path == VERIFY_PATH else read_value(response)
