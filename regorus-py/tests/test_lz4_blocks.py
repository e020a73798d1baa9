"""Blocks come back as they were given, and other bytes are refused before anything large is made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import from_lz4_block, lz4_block


@given(st.binary(max_size=2_000), st.integers(1, 50))
def test_blocks_come_back(content: bytes, times: int) -> None:
    content *= times
    block = lz4_block(content)
    assert block[:4] == len(content).to_bytes(4, "big")
    assert from_lz4_block(block, len(content)) == content


def test_what_repeats_itself_is_short() -> None:
    assert len(lz4_block(b"an entry says most things twice, " * 100)) < 100


@given(st.binary(max_size=200))
def test_any_bytes_are_a_block_or_refused(block: bytes) -> None:
    try:
        content = from_lz4_block(block, 1_000)
    except ValueError:
        return
    assert len(content) == int.from_bytes(block[:4], "big")


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_cut_or_extended_block_is_refused(content: bytes, data: st.DataObject) -> None:
    block = lz4_block(content)
    cut = data.draw(st.integers(0, len(block) - 1))
    for wrong in (block[:cut], block + b"\x10a"):
        with pytest.raises(ValueError, match="block"):
            from_lz4_block(wrong, 1_000)


def test_a_block_that_says_too_much_is_refused() -> None:
    block = lz4_block(b"a" * 1_001)
    with pytest.raises(ValueError, match="a block of 1001 bytes: more than 1000"):
        from_lz4_block(block, 1_000)
    with pytest.raises(ValueError, match="says that it has 5"):
        from_lz4_block((5).to_bytes(4, "big") + lz4_block(b"four")[4:], 1_000)
