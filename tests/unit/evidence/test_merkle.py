"""The tree against the definition in RFC 6962, section 2.1, and against its published examples."""

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import complete_root, leaf_hashes

from headgate.evidence.merkle import EMPTY_ROOT, Frontier, ProofError, leaf_hash, verify_consistency
from headgate.evidence.pack_verifier import InvalidError, tree_root
from headgate.evidence.tiles import (
    TILE_HASHES,
    TreeBuilder,
    consistency_spans,
    edge_tiles,
    inclusion_spans,
    roots_of,
    tiles_of,
)

_LEAVES = [leaf_hash(number.to_bytes(4, "big")) for number in range(2100)]


def _defined_root(leaves: list[bytes]) -> bytes:
    """MTH, word by word from the RFC."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + _defined_root(leaves[:split]) + _defined_root(leaves[split:])).digest()


def _built(size: int, *steps: int) -> TreeBuilder:
    """A tree that grew in steps, each from what was stored before."""
    stored = {}
    builder = TreeBuilder(0, {})
    for step in sorted({*(one for one in steps if one < size), size}):
        builder = TreeBuilder(builder.size, {address: stored.get(address, b"") for address in edge_tiles(builder.size)})
        builder.append(_LEAVES[builder.size : step])
        stored |= builder.changed
    builder.changed = stored
    return builder


def test_the_roots_of_certificate_transparencys_own_examples() -> None:
    """The eight entries and roots of the reference implementation's tests (google/certificate-transparency)."""
    entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    roots = {
        1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    }
    for size, root in roots.items():
        builder = TreeBuilder(0, {})
        builder.append([leaf_hash(bytes.fromhex(entry)) for entry in entries[:size]])
        assert builder.frontier().root().hex() == root


@given(st.lists(st.binary(max_size=100), max_size=40))
def test_leaves_by_the_hundred(entries: list[bytes]) -> None:
    assert leaf_hashes(entries) == [leaf_hash(entry) for entry in entries]


@pytest.mark.parametrize("hashes", [[], _LEAVES[:3], [b"short"], [_LEAVES[0], _LEAVES[1] + b"x"]])
def test_what_has_no_complete_root(hashes: list[bytes]) -> None:
    with pytest.raises(ValueError, match=r"power of two|32"):
        complete_root(hashes)


def test_the_empty_tree() -> None:
    assert TreeBuilder(0, {}).frontier() == Frontier(0, ())
    assert Frontier(0, ()).root() == EMPTY_ROOT


@given(st.integers(0, 2100), st.lists(st.integers(0, 2100), max_size=3))
def test_a_tree_that_grew_in_steps_has_the_root_that_the_rfc_defines(size: int, steps: list[int]) -> None:
    frontier = _built(size, *steps).frontier()
    assert frontier.root() == _defined_root(_LEAVES[:size])
    assert len(frontier.peaks) <= 12


def _leads_to(root: bytes, leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bool:
    """By the verifier that readers of a pack run."""
    try:
        return tree_root(leaf, index, size, path, "a leaf") == root
    except InvalidError:
        return False


@given(st.data())
def test_every_leaf_is_proved_and_no_other(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 2100))
    index = data.draw(st.integers(0, size - 1))
    stored = _built(size).changed
    spans = inclusion_spans(index, size)
    tiles = {address: stored[address] for address in tiles_of(spans)}
    path = roots_of(spans, tiles)
    root = _defined_root(_LEAVES[:size])
    assert _leads_to(root, _LEAVES[index], index, size, path)
    assert len(path) <= 12
    other = data.draw(st.integers(0, size - 1).filter(lambda number: number != index)) if size > 1 else None
    if other is not None:
        assert not _leads_to(root, _LEAVES[index], other, size, path)
        assert not _leads_to(root, _LEAVES[other], index, size, path)
        assert not _leads_to(root, _LEAVES[index], index, size, path[:-1])
    assert not _leads_to(root, _LEAVES[index], index, size, [*path, root])
    assert not _leads_to(root, _LEAVES[index], size, size, path)


@given(st.data())
def test_a_larger_tree_is_shown_to_continue_a_smaller_one_and_no_other(data: st.DataObject) -> None:
    new_size = data.draw(st.integers(0, 2100))
    old_size = data.draw(st.integers(0, new_size))
    stored = _built(new_size).changed
    spans = consistency_spans(old_size, new_size)
    path = roots_of(spans, {address: stored[address] for address in tiles_of(spans)})
    old_root, new_root = _defined_root(_LEAVES[:old_size]), _defined_root(_LEAVES[:new_size])
    verify_consistency(old_size=old_size, old_root=old_root, new_size=new_size, new_root=new_root, path=path)
    foreign = leaf_hash(b"foreign")
    with pytest.raises(ProofError):
        verify_consistency(old_size=old_size, old_root=foreign, new_size=new_size, new_root=new_root, path=path)
    if old_size not in (0, new_size):
        for bad in (path[:-1], [*path, foreign], [foreign, *path[1:]]):
            with pytest.raises(ProofError):
                verify_consistency(old_size=old_size, old_root=old_root, new_size=new_size, new_root=new_root, path=bad)
        with pytest.raises(ProofError):
            verify_consistency(old_size=old_size, old_root=old_root, new_size=new_size, new_root=foreign, path=path)


def test_a_smaller_tree_never_continues_a_larger_one() -> None:
    with pytest.raises(ProofError, match="cannot continue"):
        verify_consistency(old_size=3, old_root=EMPTY_ROOT, new_size=2, new_root=EMPTY_ROOT, path=[])


def test_an_edge_that_is_not_the_trees_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 1"):
        TreeBuilder(TILE_HASHES + 1, {})
