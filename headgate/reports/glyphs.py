"""Which characters a font has: its ``cmap`` table, formats 4 and 12 (OpenType 1.9, "cmap").

A PDF/A must be able to show every character, so that one that no font has is an error: an agent that calls itself in
another script would leave its organization without reports.
"""

import struct
from collections.abc import Iterator
from typing import Final

_DIRECTORY_BYTES: Final = 12
_ENTRY_BYTES: Final = 16
_COLLECTION: Final = b"ttcf"
# What glyphs are drawn by: outlines, layers of them, pictures. A font with none would be set as white space.
_DRAWING: Final = frozenset({b"glyf", b"CFF ", b"CFF2", b"COLR", b"SVG ", b"sbix", b"CBDT"})
_LAST_CHARACTER: Final = 0x10FFFF
_LAST_OF_SEGMENTS: Final = 0xFFFE
# Platform and encoding, in the order in which HarfBuzz takes them: all of Unicode before its first plane alone.
_PREFERRED: Final = ((3, 10), (0, 6), (0, 4), (3, 1), (0, 3), (0, 2), (0, 1), (0, 0))


def characters_of(content: bytes) -> frozenset[int]:
    """Of the file's font, or of the first of its collection. Raises ValueError where it is no font."""
    try:
        if not _tables(content).keys() & _DRAWING:
            raise ValueError("it draws nothing")
        return frozenset(_characters(content))
    except (struct.error, IndexError) as error:
        raise ValueError("its tables are cut off") from error


def _characters(content: bytes) -> Iterator[int]:
    at = _subtable(content, _table(content, b"cmap"))
    (form,) = struct.unpack_from(">H", content, at)
    if form == 12:
        return _segmented_coverage(content, at)
    if form == 4:
        return _segments(content, at)
    raise ValueError(f"its cmap is of format {form}")


def _subtable(content: bytes, cmap: int) -> int:
    (count,) = struct.unpack_from(">H", content, cmap + 2)
    found: dict[tuple[int, int], int] = {}
    for number in range(count):
        platform, encoding, offset = struct.unpack_from(">HHI", content, cmap + 4 + 8 * number)
        found.setdefault((platform, encoding), cmap + offset)
    for one in _PREFERRED:
        if one in found:
            return found[one]
    raise ValueError("its cmap is not one of Unicode")


def _segmented_coverage(content: bytes, at: int) -> Iterator[int]:
    (groups,) = struct.unpack_from(">I", content, at + 12)
    for group in range(groups):
        first, last, glyph = struct.unpack_from(">III", content, at + 16 + 12 * group)
        # Glyph 0 is what stands for a character that is not there.
        yield from range(first if glyph else first + 1, min(last, _LAST_CHARACTER) + 1)


def _segments(content: bytes, at: int) -> Iterator[int]:
    (doubled,) = struct.unpack_from(">H", content, at + 6)
    array = struct.Struct(f">{doubled // 2}H")
    starts_at = at + 16 + doubled
    offsets_at = starts_at + 2 * doubled
    ends, starts = array.unpack_from(content, at + 14), array.unpack_from(content, starts_at)
    deltas, offsets = array.unpack_from(content, starts_at + doubled), array.unpack_from(content, offsets_at)
    for index, (start, end, delta, offset) in enumerate(zip(starts, ends, deltas, offsets, strict=True)):
        for code in range(start, min(end, _LAST_OF_SEGMENTS) + 1):
            glyph = code
            if offset:  # counted from its own place
                (glyph,) = struct.unpack_from(">H", content, offsets_at + 2 * index + offset + 2 * (code - start))
            if (glyph or not offset) and (glyph + delta) & 0xFFFF:
                yield code


def _table(content: bytes, tag: bytes) -> int:
    try:
        return _tables(content)[tag]
    except KeyError:
        raise ValueError(f"it has no table {tag.decode()}") from None


def _tables(content: bytes) -> dict[bytes, int]:
    directory = struct.unpack_from(">I", content, 12)[0] if content.startswith(_COLLECTION) else 0
    (count,) = struct.unpack_from(">H", content, directory + 4)
    entries = (directory + _DIRECTORY_BYTES + _ENTRY_BYTES * number for number in range(count))
    return {content[entry : entry + 4]: struct.unpack_from(">I", content, entry + 8)[0] for entry in entries}
