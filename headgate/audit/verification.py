"""Verifies a stored run of events, one window at a time, in constant memory.

``WindowCheck`` is quick and runs first. Where its result is unknown, ``ChainVerifier`` examines the window, and names
what is wrong or finds that all is right.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from headgate.audit.chain import genesis, header_hash, parse_header
from headgate.audit.chain_store import WINDOW_EVENTS, stored_header, stream_chain
from headgate.audit.chain_verifier import ChainFault, ChainVerifier, Verification
from headgate.audit.erasure_check import Erased, explained_erasures
from headgate.audit.window_check import WindowCheck, WindowRow
from headgate.audit.windows import Windows, windows
from headgate.db.database import Connection

type HashesObserver = Callable[[int, Sequence[bytes]], ChainFault | None]
"""Told of the hashes of verified events, the first of which has this number; a fault ends the verification."""


def observe_nothing(first_seq: int, hashes: Sequence[bytes]) -> ChainFault | None:
    """Where the chain alone is verified."""
    return None


async def verify_run(
    connection: Connection, org_id: str, first_seq: int, last_seq: int, observe: HashesObserver = observe_nothing
) -> Verification:
    """The events with these numbers, and that what stands before and behind them is linked to them.

    Raises UnavailableError.
    """
    return await _Run(connection, org_id, first_seq, last_seq, observe).verify()


@dataclass(slots=True)
class _Run:
    connection: Connection
    org_id: str
    first_seq: int
    last_seq: int
    observe: HashesObserver
    verified: int = 0
    erased: int = 0
    explained_until: int = 0
    first: tuple[str, bytes] | None = field(default=None, init=False)
    last: tuple[str, bytes] | None = field(default=None, init=False)

    async def verify(self) -> Verification:
        if fault := await self._look(self.first_seq, self.first_seq, counts=False):
            return self._result(fault)
        async with windows(self.connection, self.org_id) as coming:
            return await self._all(coming)

    async def _all(self, coming: Windows) -> Verification:
        check = await self._anchored(self.first_seq)
        seq = self.first_seq
        if check is not None:
            coming.ask(seq, self._end_of(seq))
        while check is not None and seq <= self.last_seq:
            next_seq = self._end_of(seq) + 1
            rows = await coming.take((next_seq, self._end_of(next_seq)) if next_seq <= self.last_seq else None)
            hashes = await asyncio.to_thread(check.check, rows)
            if fault := self._count(seq, rows, hashes) or await self._erasures(_erased(rows[: len(hashes)])):
                return self._result(fault)
            if seq + len(hashes) < next_seq:
                doubtful = seq + len(hashes)
                if fault := await self._look(doubtful, next_seq - 1):
                    return self._result(fault)
                check = await self._anchored(next_seq)
            elif len(rows) > len(hashes) and (fault := await self._look(next_seq - 1, next_seq - 1, counts=False)):
                return self._result(fault)  # the last number twice: the quick check was done before the second
            seq = next_seq
        if check is None:
            return self._result(await self._look(seq, self.last_seq))
        return self._result(await self._look(self.last_seq, self.last_seq, counts=False))

    def _end_of(self, seq: int) -> int:
        return min(seq + WINDOW_EVENTS - 1, self.last_seq)

    async def _anchored(self, seq: int) -> WindowCheck | None:
        """A check that begins at ``seq``; None where the event before it is not there or not right itself."""
        if seq == 1:
            return WindowCheck(self.org_id, 1, genesis(self.org_id))
        stored = await stored_header(self.connection, self.org_id, seq - 1)
        if stored is None or header_hash(stored.header) != stored.hash:
            return None
        return WindowCheck(self.org_id, seq, stored.hash)

    def _count(self, seq: int, rows: Sequence[WindowRow], hashes: Sequence[bytes]) -> ChainFault | None:
        if not hashes:
            return None
        last = rows[len(hashes) - 1]
        if self.first is None:
            self.first = (_event_id(rows[0]), hashes[0])
        self.last = (_event_id(last), hashes[-1])
        self.verified += len(hashes)
        return self.observe(seq, hashes)

    async def _erasures(self, erased: Sequence[Erased]) -> ChainFault | None:
        self.erased += len(erased)
        explained = await explained_erasures(self.connection, self.org_id, erased)
        self.explained_until = max(self.explained_until, explained.until)
        return explained.fault

    async def _look(self, first: int, last: int, *, counts: bool = True) -> ChainFault | None:
        """Closely, at each event with its neighbours."""
        verifier = ChainVerifier(self.org_id, first, last)
        hashes: list[bytes] = []
        erased: list[Erased] = []
        async with aclosing(stream_chain(self.connection, self.org_id, first, last)) as events:
            async for event in events:
                if not verifier.add(event):
                    break
                if first <= event.seq <= last:
                    hashes.append(event.hash)
                    if event.payload is None:
                        erased.append(Erased(event.seq, event.header))
        found = verifier.result()
        if counts and found.events_verified:
            self.verified += found.events_verified
            if found.first_event and found.chain_start_hash:
                self.first = self.first or (found.first_event, found.chain_start_hash)
            if found.last_event and found.chain_end_hash:
                self.last = (found.last_event, found.chain_end_hash)
            if fault := self.observe(first, hashes[: found.events_verified]) or await self._erasures(erased):
                return fault
        return found.fault

    def _result(self, fault: ChainFault | None) -> Verification:
        return Verification(
            fault=fault,
            events_verified=self.verified,
            first_event=self.first[0] if self.first else None,
            last_event=self.last[0] if self.last else None,
            chain_start_hash=self.first[1] if self.first else None,
            chain_end_hash=self.last[1] if self.last else None,
            payloads_erased=self.erased,
            explained_until=self.explained_until,
        )


def _erased(rows: Sequence[WindowRow]) -> list[Erased]:
    return [Erased(row[0], row[1].decode()) for row in rows if row[-1] is None]


def _event_id(row: WindowRow) -> str:
    header = parse_header(row[1].decode())
    return "" if header is None else header.id[1:-1]
