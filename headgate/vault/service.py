"""Keeping and opening an organization's secrets."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from headgate.configuration.data_directory import DataDirectory
from headgate.db.database import Connection
from headgate.kernel.secrets import Secret
from headgate.vault.envelope import Envelope, rewrap, seal, seal_bytes, unseal, unseal_bytes
from headgate.vault.master_keys import MasterKeys, create_master_keys, load_master_keys
from headgate.vault.store import delete_envelope, get_envelopes, keeps_secrets, list_names, put_envelope
from headgate.vault.unwrapper import Unwrapper


class PlaceOfKeys(Protocol):
    """Settings that say where the file of master keys is."""

    @property
    def master_keys_file(self) -> Path | None: ...
    @property
    def data(self) -> DataDirectory: ...


class OpensKeys(PlaceOfKeys, Protocol):
    """Settings of a process that opens secrets. ``unwrapper``: for master keys that are wrapped."""

    @property
    def unwrapper(self) -> Unwrapper | None: ...


def vault_of(settings: OpensKeys) -> "Vault":
    """With the file of keys that is named, or that of the data directory."""
    return Vault(keys_file_of(settings), settings.unwrapper)


def keys_file_of(settings: PlaceOfKeys) -> Path:
    return settings.master_keys_file or settings.data.master_keys


class Vault(Struct):
    """``keys_file`` is read at the first use, and again when it has changed: a rotation needs no restart.
    ``unwrapper`` None: wrapped keys are refused."""

    keys_file: Path
    unwrapper: Unwrapper | None = None
    _keys: MasterKeys | None = None
    _seen: tuple[int, int, int] | None = None

    async def keep(self, connection: Connection, org_id: str, name: str, secret: Secret) -> None:
        """In place of the one of this name. Raises UnavailableError."""
        await self.make_first_keys(connection, org_id)
        await put_envelope(connection, org_id, name, self.seal(org_id, name, secret))

    async def open(self, connection: Connection, org_id: str, names: Iterable[str]) -> dict[str, Secret]:
        """Those that are kept. Raises UnavailableError where one does not open."""
        envelopes = await get_envelopes(connection, org_id, names)
        if not envelopes:
            return {}
        keys = self.master_keys()
        return {name: unseal(one, keys, org_id=org_id, name=name) for name, one in envelopes.items()}

    async def names(self, connection: Connection, org_id: str, prefix: str) -> list[str]:
        """Which are kept, without opening any."""
        return await list_names(connection, org_id, prefix)

    async def forget(self, connection: Connection, org_id: str, name: str) -> None:
        await delete_envelope(connection, org_id, name)

    async def make_first_keys(self, connection: Connection, org_id: str) -> None:
        """Where there is no file, and the organization keeps nothing yet: one that was lost is not replaced by one that
        opens nothing. Raises UnavailableError."""
        if not self.keys_file.exists() and not await keeps_secrets(connection, org_id):
            create_master_keys(self.keys_file)

    def seal(self, org_id: str, name: str, secret: Secret) -> Envelope:
        """Encrypted under a data key of its own, for a store other than this one. Raises UnavailableError."""
        return seal(secret, self.master_keys(), org_id=org_id, name=name)

    def unseal(self, org_id: str, name: str, envelope: Envelope) -> Secret:
        """Raises UnavailableError where it does not open."""
        return unseal(envelope, self.master_keys(), org_id=org_id, name=name)

    def rewrapped(self, org_id: str, name: str, envelope: Envelope) -> Envelope:
        """The same secret under the current master key; needs no ciphertext. Raises UnavailableError."""
        return rewrap(envelope, self.master_keys(), org_id=org_id, name=name)

    @property
    def current_key_id(self) -> str:
        """The master key that new data keys are wrapped under. Raises UnavailableError."""
        return self.master_keys().current

    def seal_bytes(self, plain: bytes, *, org_id: str, name: str) -> Envelope:
        """For what is kept elsewhere than among the vault's secrets. Raises UnavailableError."""
        return seal_bytes(plain, self.master_keys(), org_id=org_id, name=name)

    def unseal_bytes(self, envelope: Envelope, *, org_id: str, name: str) -> bytes:
        """Raises UnavailableError."""
        return unseal_bytes(envelope, self.master_keys(), org_id=org_id, name=name)

    def master_keys(self) -> MasterKeys:
        """Those in the file now. Raises UnavailableError."""
        try:
            found = self.keys_file.stat()
        except OSError:
            return load_master_keys(self.keys_file, self.unwrapper)  # which says why
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._keys is None or seen != self._seen:
            self._keys = load_master_keys(self.keys_file, self.unwrapper)
            self._seen = seen
        return self._keys
