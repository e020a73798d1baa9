"""The credential of a connection, opened where it is used: kept in memory for seconds, never beyond its expiry.

The key of what is kept is the connection's revision: what a person changed is read anew at once, because the decision
was made on the new generation; what the worker has refreshed is read within ``KEPT_SECONDS``.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from headgate.connections.carried import Carried, carried_of
from headgate.connections.certificate import is_usable, valid_until
from headgate.connections.choose import broken
from headgate.connections.credential import CertificateCredential, read_kept_secrets
from headgate.connections.model import Connection, ConnectionStatus
from headgate.connections.store import get_connection
from headgate.db import database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import NotFoundError, UnavailableError
from headgate.vault.service import Vault

KEPT_SECONDS: Final = 5.0
_MOST_KEPT: Final = 4096


class _Kept(Struct, frozen=True):
    carried: Carried
    until: datetime


class OpenCredentials:
    """Of one process."""

    def __init__(self, db: database.Database, vault: Vault, clock: Clock) -> None:
        self._database = db
        self._vault = vault
        self._clock = clock
        self._kept: dict[tuple[str, str, int], _Kept] = {}

    def kept(self, connection: Connection) -> Carried | None:
        """Without asking anybody; None: ``open`` has to."""
        found = self._kept.get((connection.org_id, connection.connection_id, connection.revision))
        return found.carried if found is not None and self._clock() < found.until else None

    def forget(self, connection: Connection) -> None:
        """The platform has just refused it: some end the one before as soon as another was given."""
        self._kept.pop((connection.org_id, connection.connection_id, connection.revision), None)

    async def open(self, connection: Connection) -> Carried:
        """Of a call whose decision is on record. Raises BrokenConnectionError, UnavailableError: also where somebody
        has changed the connection since, so that its hosts, place, agents or secret may be others."""
        async with self._database.transaction(connection.org_id) as db:
            carried = await self.open_in(db, connection)
            # After the secret: what has this revision now had it when the secret was read.
            if (await get_connection(db, connection.org_id, connection.connection_id)).revision == connection.revision:
                return carried
        self.forget(connection)
        raise UnavailableError(
            f"the connection {connection.name} has changed since this call was decided: send it again",
            retry_after_seconds=1,
        )

    async def open_in(self, db: database.Connection, connection: Connection, *, even_broken: bool = False) -> Carried:
        """As ``open``, inside of a transaction of the organization. ``even_broken``: to look whether it still is; what
        is opened so is not kept."""
        if not even_broken and (found := self.kept(connection)) is not None:
            return found
        try:
            now_is = await get_connection(db, connection.org_id, connection.connection_id)
        except NotFoundError as error:
            raise broken(connection, "it was removed") from error
        if now_is.status is not ConnectionStatus.ACTIVE and not even_broken:
            raise broken(now_is)
        now = self._clock()
        if now_is.expires_at is not None and now_is.expires_at <= now:
            raise broken(now_is, "its credential has expired, and no new one could be had")
        secrets = (await self._vault.open(db, connection.org_id, [connection.vault_name])).get(connection.vault_name)
        if secrets is None:
            raise broken(now_is, "it has no stored secret")
        carried = carried_of(now_is, read_kept_secrets(secrets))
        until = now + timedelta(seconds=KEPT_SECONDS)
        if isinstance(carried.credential, CertificateCredential):
            if not is_usable(carried.credential):
                raise broken(now_is, "its certificate and its key cannot be used together")
            if (ends := valid_until(carried.credential)) <= now:
                raise broken(now_is, f"its certificate expired on {ends.date()}")
            until = min(until, ends)
        if even_broken:
            return carried
        if now_is.expires_at is not None:
            until = min(until, now_is.expires_at)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[(connection.org_id, connection.connection_id, connection.revision)] = _Kept(carried, until)
        return carried
