"""Blocks of the record and the masks that say which of a block's events are meant.

The bitmap index of ``schema/07_audit.sql``: a mask is an integer of ``BLOCK_EVENTS`` bits, the most significant of
which is the block's first event, as the server writes a ``bit`` string from left to right.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

BLOCK_EVENTS: Final = 1024
WHOLE: Final = (1 << BLOCK_EVENTS) - 1
"""The mask of every event."""


class BlockMask(Struct, frozen=True):
    """``is_certain`` False: some of these events may lie outside of the range of time that is asked for."""

    block: int
    mask: int
    is_certain: bool = True


class BlockEvent(NamedTuple):
    """What an event is found by."""

    seq: int
    event_type: str
    agent_id: str | None
    action_id: str | None


class BlockAction(NamedTuple):
    """What the events of an action are found by. It is written once, with the first of them, and never changes."""

    tool: str
    operation: str
    decision: str | None
    risk_level: str


type FacetMasks = dict[tuple[str, str], int]
"""By facet and value: the mask of the block's events that have it."""


def facet_masks(events: Iterable[BlockEvent], actions: Mapping[str, BlockAction]) -> FacetMasks:
    """Of events that are all of one block. ``actions``: by identifier."""
    masks: FacetMasks = defaultdict(int)
    of_action: dict[str, int] = defaultdict(int)
    for event in events:
        bit = 1 << (BLOCK_EVENTS - 1 - (event.seq - 1) % BLOCK_EVENTS)
        masks["event_type", event.event_type] |= bit
        if event.agent_id is not None:
            masks["agent_id", event.agent_id] |= bit
        if event.action_id is not None:
            of_action[event.action_id] |= bit
    for action_id, mask in of_action.items():
        action = actions.get(action_id)
        if action is not None:
            for facet, value in zip(BlockAction._fields, action, strict=True):
                if value is not None:
                    masks[facet, value] |= mask
    return dict(masks)


def block_of(seq: int) -> int:
    """Which block holds this event; ``seq`` counts from 1."""
    return (seq - 1) // BLOCK_EVENTS


def mask_of(seqs: Iterable[int]) -> int:
    """Of events that are all of one block."""
    mask = 0
    for seq in seqs:
        mask |= 1 << (BLOCK_EVENTS - 1 - (seq - 1) % BLOCK_EVENTS)
    return mask


def newest_first(found: BlockMask) -> Iterator[int]:
    """Their numbers."""
    mask, last = found.mask, (found.block + 1) * BLOCK_EVENTS
    while mask:
        lowest = mask & -mask
        yield last - lowest.bit_length() + 1
        mask ^= lowest


def before(found: BlockMask, seq: int) -> BlockMask:
    """What of it comes before this event in the chain."""
    first = found.block * BLOCK_EVENTS + 1
    kept = min(max(seq - first, 0), BLOCK_EVENTS)
    return BlockMask(found.block, found.mask & (WHOLE ^ (WHOLE >> kept)), found.is_certain)
