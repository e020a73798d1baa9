"""Whether the commits in a pack prove that a push only adds to a branch (gitformat-pack).

Git writes the commits of a pack before its trees and files, so only the beginning is read: what comes behind the first
object of another kind, and commits that are stored as differences, prove nothing. The answer may be no for a push that
is a fast-forward, never yes for one that is not: an object's name is the digest of what is read here.
"""

import hashlib
import re
import zlib
from collections.abc import Iterator
from typing import Final

_HEADER: Final = re.compile(rb"PACK\x00\x00\x00[\x02\x03]....", re.DOTALL)
_COMMIT: Final = 1
_SIZE_BITS_MAX: Final = 32
_MORE: Final = 0x80
_COMMITS_MAX: Final = 300
_STEPS_MAX: Final = 3_000
_COMMIT_BYTES_MAX: Final = 64 << 10
_TOTAL_BYTES_MAX: Final = 512 << 10
_PARENT: Final = re.compile(rb"parent ([0-9a-f]{40}|[0-9a-f]{64})")


class PushedCommits:
    """The commits at the beginning of a pack, read once. Reading takes at most some 10 ms of a processor, and so do all
    questions together: an agent chooses how many refs it pushes."""

    def __init__(self, pack: bytes, *, is_sha1: bool) -> None:
        self._parents = dict(_commits(pack, "sha1" if is_sha1 else "sha256"))
        self._steps_left = _STEPS_MAX

    def lead_back(self, new: str, old: str) -> bool:
        """Whether ``old`` is an ancestor of ``new`` by these commits. Names are lower-case hexadecimal."""
        seen, waiting = {new}, [new]
        while waiting and self._steps_left > 0:
            self._steps_left -= 1
            for parent in self._parents.get(waiting.pop(), ()):
                if parent == old:
                    return True
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return False


def _commits(pack: bytes, digest: str) -> Iterator[tuple[str, list[str]]]:
    """Names and parents of the commits at the beginning."""
    if _HEADER.match(pack) is None:
        return
    at, left = 12, _TOTAL_BYTES_MAX
    for _ in range(_COMMITS_MAX):
        if at >= len(pack):
            return
        first = pack[at]
        size, shift = first & 0x0F, 4
        while pack[at] & _MORE:
            at += 1
            if at >= len(pack) or shift > _SIZE_BITS_MAX:
                return
            size |= (pack[at] & 0x7F) << shift
            shift += 7
        if first >> 4 & 0x07 != _COMMIT or size > min(left, _COMMIT_BYTES_MAX):
            return
        at += 1
        decoder = zlib.decompressobj()
        try:
            # A commit of this size is at most a little longer when it is compressed.
            content = decoder.decompress(pack[at : at + size + 1_024], size + 1)
        except zlib.error:
            return
        if len(content) != size or not decoder.eof:
            return
        at += min(size + 1_024, len(pack) - at) - len(decoder.unused_data)
        left -= size
        name = hashlib.new(digest, b"commit %d\0" % size + content, usedforsecurity=False).hexdigest()
        yield name, [found.decode() for found in _parents(content)]


def _parents(content: bytes) -> Iterator[bytes]:
    """Lines behind the tree's, until another one (git-fsck's order)."""
    for line in content.split(b"\n\n", 1)[0].split(b"\n")[1:]:
        found = _PARENT.fullmatch(line)
        if found is None:
            return
        yield found[1]
