"""Masks of blocks: which bit is which event."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.audit.blocks import BLOCK_EVENTS, WHOLE, BlockMask, before, block_of, mask_of, newest_first


@settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be slow, the sets are not large
@given(block=st.integers(0, 10**6), places=st.sets(st.integers(1, BLOCK_EVENTS)), cut=st.integers(-3, BLOCK_EVENTS + 5))
def test_a_mask_holds_its_events_and_a_cut_those_before(block: int, places: set[int], cut: int) -> None:
    seqs = {block * BLOCK_EVENTS + place for place in places}
    found = BlockMask(block, mask_of(seqs))
    assert list(newest_first(found)) == sorted(seqs, reverse=True)
    assert {block_of(seq) for seq in seqs} <= {block}
    limit = block * BLOCK_EVENTS + cut
    assert list(newest_first(before(found, limit))) == sorted((seq for seq in seqs if seq < limit), reverse=True)


def test_the_leftmost_bit_is_the_first_event() -> None:
    text = "1" + "0" * (BLOCK_EVENTS - 1)
    assert list(newest_first(BlockMask(2, int(text, 2)))) == [2 * BLOCK_EVENTS + 1]
    assert len(list(newest_first(BlockMask(0, WHOLE)))) == BLOCK_EVENTS
