"""The Merkle tree of RFC 6962, section 2.1: hashes, roots, and the check that one tree continues another.

It follows RFC 9162, section 2.1.4.2, which spells out what RFC 6962 leaves to the reader. That a leaf is in a tree is
checked in one place, by ``pack_verifier.tree_root``, which auditors take away.
Pure; where the hashes of a large tree come from is ``tiles``'s matter. Hashes by the hundred are computed in Rust
(``regorus-py/src/record/tree.rs``), which the tests compare with these.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from msgspec import Struct

HASH_BYTES: Final = 32
EMPTY_ROOT: Final = sha256().digest()


class ProofError(ValueError):
    """A proof does not show what it should; the message says what was expected."""


def leaf_hash(entry: bytes) -> bytes:
    """The zero byte keeps a leaf from being taken for an inner node (second preimages, section 2.1)."""
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


class Frontier(Struct, frozen=True):
    """All that a growing tree must remember: the roots of its complete subtrees, the largest first.

    As many as ``size`` has bits set: 20 at most for a million leaves.
    """

    size: int
    peaks: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if len(self.peaks) != self.size.bit_count():
            raise ValueError(f"a tree of {self.size} leaves has {self.size.bit_count()} peaks, not {len(self.peaks)}")

    def root(self) -> bytes:
        return fold_peaks(self.peaks)


def fold_peaks(peaks: Sequence[bytes]) -> bytes:
    """The root over complete subtrees, largest first: the smallest are joined first."""
    if not peaks:
        return EMPTY_ROOT
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


def verify_consistency(
    *, old_size: int, old_root: bytes, new_size: int, new_root: bytes, path: Sequence[bytes]
) -> None:
    """That the larger tree begins with the smaller one. Raises ProofError."""
    if old_size > new_size:
        raise ProofError(f"a tree of {new_size} leaves cannot continue one of {old_size}")
    if old_size in (0, new_size):
        _verify_trivial(old_root, EMPTY_ROOT if old_size == 0 else new_root, old_size, path)
        return
    hashes = list(path)
    if old_size & (old_size - 1) == 0:
        hashes.insert(0, old_root)
    if not hashes:
        raise ProofError("the consistency proof is empty")
    old_found, new_found = _walk(hashes, old_size - 1, new_size - 1)
    for which, found, root in (("old", old_found, old_root), ("new", new_found, new_root)):
        if found != root:
            raise ProofError(f"the consistency proof leads to the {which} root {found.hex()}, expected {root.hex()}")


def _walk(hashes: Sequence[bytes], node: int, last: int) -> tuple[bytes, bytes]:
    """The roots of both trees that these hashes lead to."""
    while node & 1:
        node >>= 1
        last >>= 1
    old_found = new_found = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise ProofError("the consistency proof is longer than the tree is high")
        if node & 1 or node == last:
            old_found = node_hash(sibling, old_found)
            new_found = node_hash(sibling, new_found)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            new_found = node_hash(new_found, sibling)
        node >>= 1
        last >>= 1
    if last != 0:
        raise ProofError("the consistency proof is shorter than the tree is high")
    return old_found, new_found


def _verify_trivial(old_root: bytes, expected: bytes, size: int, path: Sequence[bytes]) -> None:
    if path:
        raise ProofError("no hashes are needed here, and some were given")
    if old_root != expected:
        raise ProofError(f"two roots for {size} leaves: {old_root.hex()} and {expected.hex()}")
