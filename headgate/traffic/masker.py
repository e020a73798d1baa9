"""From the spool to the database: masked, sealed, recorded, and only then taken out of the spool.

Killed at any point it begins again with the same file, and what it has recorded before is left as it is. A file over
which it dies again and again is given up, and told as lost.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import structlog

from headgate.db.database import ConstraintError, Database
from headgate.kernel.errors import UnavailableError
from headgate.traffic import spool_reader
from headgate.traffic.mask_body import NotMaskedError
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.model import Captured, Kept, Loss, Lost
from headgate.traffic.recording_store import record_exchanges, record_losses
from headgate.traffic.sealed_exchange import seal_exchange
from headgate.traffic.segment import DamagedError, frame_owners
from headgate.traffic.spool_reader import Contents, EndedProcess
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

_BATCH: Final = 64


class Masker:
    """``should_stop`` is asked between exchanges: what was masked until then is recorded."""

    def __init__(
        self, folder: Path, database: Database, vault: Vault, *, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._folder = folder
        self._database = database
        self._vault = vault
        self._should_stop = should_stop

    async def run(self) -> int:
        """One round; how many exchanges it recorded. Raises UnavailableError: the key or the database is not there."""
        recorded = 0
        for path in spool_reader.finished_segments(self._folder):
            recorded += await self._segment(path)
            if self._should_stop():
                return recorded
        for process in spool_reader.ended_processes(self._folder):
            recorded += await self._ended(process)
        for path in spool_reader.orphans(self._folder):
            recorded += await self._segment(path)
        return recorded

    async def _segment(self, path: Path) -> int:
        contents = self._read(path)
        if not await self._record(path, contents):
            return 0
        spool_reader.forget_segment(path)
        return len(contents.exchanges)

    async def _ended(self, process: EndedProcess) -> int:
        """Its unfinished files first; they go last, as they say how far it got."""
        settled: dict[str, int] = {}
        recorded = 0
        for path in process.unfinished:
            contents = self._read(path)
            for org_id, number in contents.settled.items():
                settled[org_id] = max(number, settled.get(org_id, 0))
            if not await self._record(path, contents):
                return recorded
            recorded += len(contents.exchanges)
        lost = spool_reader.lost_with(process, settled)
        await self._tell(lost)
        if lost:
            _log.error("captures_lost", source=process.source, exchanges=sum(one.exchanges for one in lost))
        process.counts.unlink(missing_ok=True)
        for path in process.unfinished:
            spool_reader.forget_segment(path)
        return recorded

    def _read(self, path: Path) -> Contents:
        try:
            return spool_reader.read_segment(path, self._vault)
        except DamagedError as error:
            _log.error("capture_file_damaged", file=path.name, error=str(error))
            at = spool_reader.written_at(path)
            losses = [
                Lost(org_id, f"{path.stem}/{org_id}/{number}", Loss.DAMAGED, 1, at, at)
                for org_id, number in frame_owners(path.read_bytes())
            ]
            return Contents(losses=losses)

    async def _record(self, path: Path, contents: Contents) -> bool:
        """False: stopped in the middle; the file is begun again."""
        tries = spool_reader.begin_try(path)
        try:
            losses = list(contents.losses)
            if tries > spool_reader.TRIES_MAX:
                _log.error("capture_file_given_up", file=path.name, exchanges=len(contents.exchanges))
                losses += spool_reader.given_up(path, contents)
            else:
                for start in range(0, len(contents.exchanges), _BATCH):
                    batch = contents.exchanges[start : start + _BATCH]
                    if self._should_stop() or not await self._batch(path, batch, losses):
                        spool_reader.forget_try(path)
                        return False
            await self._tell(losses)
        except UnavailableError:
            spool_reader.forget_try(path)
            raise
        return True

    async def _batch(self, path: Path, batch: Sequence[Captured], losses: list[Lost]) -> bool:
        kept: list[Kept] = []
        for captured in batch:
            if self._should_stop():
                return False
            sealed = self._sealed(path, captured, losses)
            if sealed is not None:
                kept.append(sealed)
        await self._keep(path, kept, losses)
        return True

    def _sealed(self, path: Path, captured: Captured, losses: list[Lost]) -> Kept | None:
        try:
            return seal_exchange(captured, mask_exchange(captured), self._vault)
        except UnavailableError:
            raise
        except NotMaskedError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, unmasked bytes are not kept
            why = type(error).__name__
        _log.error("capture_not_masked", exchange_id=captured.exchange_id, error=why)
        losses.append(_lost(path, captured.org_id, captured.exchange_id, Loss.NOT_MASKED, captured))
        return None

    async def _keep(self, path: Path, kept: Sequence[Kept], losses: list[Lost]) -> None:
        """A batch that the database refuses is tried one by one, so that one bad row costs itself."""
        try:
            async with self._database.across_organizations() as connection:
                known = await record_exchanges(connection, kept)
        except ConstraintError as error:
            _log.error("capture_refused", exchanges=len(kept), error=error.message)
            if len(kept) == 1:
                losses.append(_lost(path, kept[0].org_id, kept[0].exchange_id, Loss.REFUSED, kept[0]))
                return
            known = -1
        if known == len(kept):
            return
        if len(kept) == 1:
            losses.append(_lost(path, kept[0].org_id, kept[0].exchange_id, Loss.REFUSED, kept[0]))
            return
        for one in kept:
            await self._keep(path, [one], losses)

    async def _tell(self, losses: Sequence[Lost]) -> None:
        if losses:
            async with self._database.across_organizations() as connection:
                await record_losses(connection, losses)


def _lost(path: Path, org_id: str, exchange_id: str, cause: Loss, one: Captured | Kept) -> Lost:
    return Lost(org_id, f"{path.stem}/{exchange_id}", cause, 1, one.created_at, one.created_at)
