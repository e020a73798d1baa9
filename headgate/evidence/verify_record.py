"""The record against what was signed: the chain is verified, its tree computed anew, and each root compared with a
checkpoint's.

What a chain alone cannot show is seen here: that its end was cut off, that it was rewritten, and by whom there are two
versions of it (docs/guides/evidence.md has the table). The checkpoints that count are those that the database's
administrator could not change: exported ones, and whatever a witness co-signed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace
from regorus import leaf_hashes

from headgate.audit.chain_store import range_of
from headgate.audit.chain_verifier import ChainFault, FaultReason, Verification
from headgate.audit.fork_check import fork_at
from headgate.audit.insertion_check import inserted_event
from headgate.audit.verification import verify_run
from headgate.db.database import Connection
from headgate.evidence.checkpoint import Checkpoint, parse_checkpoint
from headgate.evidence.locate import first_difference
from headgate.evidence.merkle import EMPTY_ROOT
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.evidence.recorded_restores import RecordedRestore
from headgate.evidence.stored_tree import builder_at
from headgate.evidence.tiles import TreeBuilder, continuing_nodes, root_continued
from headgate.evidence.tree_store import chain_length, load_tiles
from headgate.kernel.errors import ValidationError
from headgate.reconciliation.model import Reconciliation

type Progress = Callable[[int], None]
"""Told of each number of events more that have been verified."""


def _no_progress(events: int) -> None:
    """Where nobody watches."""


class RecordVerification(Struct, frozen=True):
    """``chain`` says what is wrong first, whichever check found it. ``agreed``: the sizes of the signed checkpoints
    that the events were held against; ``signed_up_to``: the number of the last event that one of them covers.
    ``from_the_first``: the stored tree was of no use, so that the chain was verified from its first event on.
    ``tables``: what the tables say beside the events; None: they were not looked at (``verify_tables``).
    ``restores``: those that the log tells of (``explain_rollback``)."""

    chain: Verification
    agreed: frozenset[int] = frozenset()
    signed_up_to: int | None = None
    from_the_first: bool = False
    tables: Reconciliation | None = None
    restores: tuple[RecordedRestore, ...] = ()

    @property
    def checkpoints_verified(self) -> int:
        return len(self.agreed)


def read_points(
    texts: Iterable[str], keys: Sequence[VerifierKey], org_id: str
) -> tuple[list[Checkpoint], ChainFault | None]:
    """Checkpoints by size, each signature verified; two of one size that differ are a fork, which is a fault.

    ``keys`` are named as the log, or as several logs of one service begin.
    """
    points: dict[int, Checkpoint] = {}
    for text in texts:
        which = "a checkpoint"
        try:
            note = parse_note(text)
            point = parse_checkpoint(note)
            which = f"the checkpoint of {point.size} events"
            if not point.origin.endswith(f"/{org_id}"):
                raise ValidationError(f"it is of another log: {point.origin}")
            verify_note(note, [_named(key, point.origin) for key in keys])
        except ValidationError as error:
            message = f"{which} cannot be believed: {error.message}"
            return [], ChainFault(0, None, FaultReason.CHECKPOINT_INVALID, message)
        known = points.setdefault(point.size, point)
        if known.root != point.root:
            message = f"two checkpoints of {point.size} events with different roots were signed: the log was forked"
            return [], ChainFault(point.size, None, FaultReason.FORKED, message)
    return [points[size] for size in sorted(points)], None


def _named(key: VerifierKey, origin: str) -> VerifierKey:
    return VerifierKey(origin, key.public_key, key.kind) if origin.startswith(f"{key.name}/") else key


async def verify_record(
    connection: Connection,
    org_id: str,
    points: Sequence[Checkpoint],
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress = _no_progress,
) -> RecordVerification:
    """The events sealed in a range of time (both ends inclusive; without one, all), against these checkpoints."""
    run = await range_of(connection, org_id, start, end)
    is_whole = start is None and end is None
    if run is None:
        found = RecordVerification(Verification(None, 0))
    else:
        found = await verify_numbers(connection, org_id, points, 1 if is_whole else run[0], run[1], progress)
    fault = found.chain.fault
    if fault is None and is_whole:
        fault = _cut_off(0 if run is None else run[1], points)
    fault = fault or await inserted_event(connection, org_id, start, end)
    return replace(found, chain=_with_fault(found.chain, fault))


async def verify_numbers(
    connection: Connection,
    org_id: str,
    points: Sequence[Checkpoint],
    first_seq: int,
    last_seq: int,
    progress: Progress = _no_progress,
    *,
    verified_until: int = 0,
) -> RecordVerification:
    """The events with these numbers. What lies before and behind them is taken from the stored tree, which need not be
    believed: a root that comes out as it was signed was made of the right hashes. Where events behind them say that
    their payloads were erased, it goes on to those; ``verified_until``: up to there somebody else verifies."""
    found = await _verify_numbers(connection, org_id, points, first_seq, last_seq, progress, verified_until)
    fault = found.chain.fault
    fork = None if fault is None else await fork_at(connection, org_id, fault.seq)
    return found if fork is None else replace(found, chain=_with_fault(found.chain, fork))


async def _verify_numbers(
    connection: Connection,
    org_id: str,
    points: Sequence[Checkpoint],
    first_seq: int,
    last_seq: int,
    progress: Progress,
    verified_until: int,
) -> RecordVerification:
    watch = _TreeWatch(await builder_at(connection, org_id, first_seq - 1), tuple(points), progress)
    chain = await verify_run(connection, org_id, first_seq, last_seq, watch.add)
    fault = watch.fault or chain.fault
    if fault is None and (beyond := next((one for one in points if one.size > last_seq), None)):
        fault = await _verify_beyond(connection, org_id, watch, beyond, await chain_length(connection, org_id))
    if watch.failed is not None:
        if first_seq > 1 or watch.failed.size > last_seq:
            # Events of the run, or what the stored tree says of the others: the whole chain tells.
            whole = await verify_numbers(connection, org_id, points, 1, max(last_seq, watch.failed.size))
            return replace(whole, from_the_first=True)
        fault = await first_difference(connection, org_id, watch.good_size, watch.failed)
    found = RecordVerification(_with_fault(chain, fault), frozenset(watch.agreed), watch.signed_up_to)
    if fault is None and chain.explained_until > max(last_seq, verified_until):
        behind = await verify_numbers(connection, org_id, points, last_seq + 1, chain.explained_until)
        return replace(found, chain=_with_fault(chain, behind.chain.fault))
    return found


@dataclass(slots=True)
class _TreeWatch:
    """Grows the tree by the hashes of verified events, and compares its root wherever a checkpoint has one."""

    builder: TreeBuilder
    points: Sequence[Checkpoint]
    progress: Progress
    agreed: set[int] = field(default_factory=set)
    signed_up_to: int | None = None
    good_size: int = 0
    failed: Checkpoint | None = None
    fault: ChainFault | None = None
    _next: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.good_size = self.builder.size
        while self._next < len(self.points) and self.points[self._next].size <= self.builder.size:
            self._next += 1

    def add(self, first_seq: int, hashes: Sequence[bytes]) -> ChainFault | None:
        self.progress(len(hashes))
        at = 0
        while self._next < len(self.points) and self.points[self._next].size < first_seq + len(hashes):
            point = self.points[self._next]
            self._append(hashes[at : point.size - first_seq + 1])
            at = point.size - first_seq + 1
            if not self.compare(point, self.builder.frontier().root()):
                return self.fault
            self._next += 1
        self._append(hashes[at:])
        return None

    def compare(self, point: Checkpoint, root: bytes) -> bool:
        if root != point.root:
            self.failed = point
            self.fault = ChainFault(point.size, None, FaultReason.NOT_AS_SIGNED, "another root than was signed")
            return False
        self.agreed.add(point.size)
        self.signed_up_to = self.good_size = point.size
        return True

    def _append(self, hashes: Sequence[bytes]) -> None:
        self.builder.append(leaf_hashes(list(hashes)))
        self.builder.changed.clear()


async def _verify_beyond(
    connection: Connection, org_id: str, watch: _TreeWatch, point: Checkpoint, length: int
) -> ChainFault | None:
    """The first checkpoint behind the run: the events between are taken from the stored tree."""
    if point.size > length:
        return None  # what is missing at the end is the whole chain's matter
    size = watch.builder.size
    tiles = await load_tiles(connection, org_id, {node.tile for node in continuing_nodes(size, point.size)})
    try:
        root = root_continued(watch.builder.frontier(), point.size, tiles)
    except LookupError:
        root = EMPTY_ROOT
    last = watch.signed_up_to
    if watch.compare(point, root):
        watch.signed_up_to = size if last is None else max(size, last)
    return watch.fault


def _cut_off(last_seq: int, points: Sequence[Checkpoint]) -> ChainFault | None:
    beyond = [one.size for one in points if one.size > last_seq]
    if not beyond:
        return None
    message = f"the chain ends at event {last_seq}, and a checkpoint of {beyond[-1]} events was signed: its end is gone"
    return ChainFault(last_seq + 1, None, FaultReason.MISSING, message)


def _with_fault(chain: Verification, fault: ChainFault | None) -> Verification:
    return replace(chain, fault=fault)
