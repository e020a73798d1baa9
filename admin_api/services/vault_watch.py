"""Checks from the start of the process whether the file of master keys can be read and opens the stored secrets.
Logs each change once."""

import asyncio
from typing import Final

import structlog

from headgate.db.database import Database
from headgate.kernel.errors import HeadgateError
from headgate.vault.rotation import file_fault, key_states
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_EVERY_SECONDS: Final = 15.0
_AGAIN_SECONDS: Final = 1.0


class VaultWatch:
    """``usable`` None: no secret is stored and the file is valid or not needed, or the first check is not done."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._keys = (vault.keys_file, vault.unwrapper)
        self._told: tuple[str, ...] = ()
        self.usable: bool | None = None

    async def keep_looking(self) -> None:
        """Ends with its task; a database that is not there is asked again."""
        while True:
            seconds = _EVERY_SECONDS
            try:
                await self.look()
            except HeadgateError:
                seconds = _AGAIN_SECONDS
            await asyncio.sleep(seconds)

    async def look(self) -> None:
        """Raises UnavailableError: the database does not say."""
        used = [one for one in await key_states(self._database, *self._keys) if one.secrets]
        faults = tuple(f"{one.key_id} ({one.secrets} secrets): {one.fault}" for one in used if one.fault)
        if not faults and (fault := await file_fault(self._database, *self._keys)) is not None:
            faults = (fault,)
        self.usable = not faults if used or faults else None
        if faults and faults != self._told:
            _log.critical(
                "vault_unusable",
                faults=faults,
                what="operations that need these keys are refused; a process that starts refuses every call",
            )
        if self._told and not faults:
            _log.info("vault_usable")
        self._told = faults
