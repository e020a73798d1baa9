"""Keeping and opening an organization's secrets."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headgate.db.database import Connection
from headgate.kernel.secrets import Secret
from headgate.vault.envelope import rewrap, seal, unseal
from headgate.vault.master_keys import MasterKeys, open_master_keys
from headgate.vault.store import delete_envelope, get_envelopes, list_names, put_envelope


@dataclass(slots=True)
class Vault:
    """``keys_file`` is read, or made, at the first use: who keeps no secret needs no key."""

    keys_file: Path
    _keys: MasterKeys | None = None

    async def keep(self, connection: Connection, org_id: str, name: str, secret: Secret) -> None:
        """In place of the one of this name. Raises UnavailableError."""
        await put_envelope(connection, org_id, name, seal(secret, self._master_keys(), org_id=org_id, name=name))

    async def open(self, connection: Connection, org_id: str, names: Iterable[str]) -> dict[str, Secret]:
        """Those that are kept. Raises UnavailableError where one does not open."""
        envelopes = await get_envelopes(connection, org_id, names)
        if not envelopes:
            return {}
        keys = self._master_keys()
        return {name: unseal(one, keys, org_id=org_id, name=name) for name, one in envelopes.items()}

    async def names(self, connection: Connection, org_id: str, prefix: str) -> list[str]:
        """Which are kept, without opening any."""
        return await list_names(connection, org_id, prefix)

    async def forget(self, connection: Connection, org_id: str, name: str) -> None:
        await delete_envelope(connection, org_id, name)

    async def rewrap(self, connection: Connection, org_id: str) -> int:
        """Bring all of an organization's under the current master key; how many that were. Raises UnavailableError."""
        keys = self._master_keys()
        envelopes = await get_envelopes(connection, org_id, await list_names(connection, org_id, ""))
        stale = {name: one for name, one in envelopes.items() if one.key_id != keys.current}
        for name, one in stale.items():
            await put_envelope(connection, org_id, name, rewrap(one, keys, org_id=org_id, name=name))
        return len(stale)

    def _master_keys(self) -> MasterKeys:
        if self._keys is None:
            self._keys = open_master_keys(self.keys_file)
        return self._keys
