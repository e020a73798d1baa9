"""A TrueType font made here: a square for each of a few characters, with the tables that a PDF takes, and no more."""

import struct
from collections.abc import Mapping
from pathlib import Path

_UNITS = 1000
_SQUARE = struct.pack(">hhhhh", 1, 100, 0, 900, 800) + struct.pack(">HH", 3, 0) + bytes([1, 1, 1, 1]) + struct.pack(
    ">hhhhhhhh", 100, 800, 0, -800, 0, 0, 800, 0
)  # fmt: skip


def write_font(file: Path, family: str, characters: str, *, cmap_format: int = 12) -> Path:
    """Each character has a glyph of its own; glyph 0 is what stands for those that are not there."""
    file.write_bytes(font_of(_tables(family, sorted(set(characters)), cmap_format)))
    return file


def font_of(tables: Mapping[bytes, bytes], begins_at: int = 0) -> bytes:
    """The file: its directory, then the tables (OpenType 1.9, "Organization of an OpenType Font").
    ``begins_at``: where in its file, if it is one of a collection."""
    head = struct.pack(">IHHHH", 0x00010000, len(tables), 16, 0, 0)
    directory, content, at = b"", b"", begins_at + len(head) + 16 * len(tables)
    for tag, table in sorted(tables.items()):
        padded = table + bytes(-len(table) % 4)
        total = sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF
        directory += struct.pack(">4sIII", tag, total, at + len(content), len(table))
        content += padded
    return head + directory + content


def _tables(family: str, characters: list[str], cmap_format: int) -> dict[bytes, bytes]:
    glyphs = len(characters) + 1
    square = _SQUARE + bytes(-len(_SQUARE) % 4)
    return {
        b"head": struct.pack(
            ">IIIIHHqqhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, _UNITS, 0, 0, 0, 0, 1000, 800, 0, 8, 2, 1, 0
        ),
        b"hhea": struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, 800, -200, 0, 1000, 0, 0, 1000, 1, *[0] * 7, glyphs),
        b"maxp": struct.pack(">IH13H", 0x10000, glyphs, 4, 1, 0, 0, 2, *[0] * 8),
        b"OS/2": struct.pack(
            ">HhHHHhhhhhhhhhhh10sIIII4sHHHhhhHHIIhhHHH", 4, 1000, 400, 5, 0, *[0] * 11, bytes(10), 0, 0, 0, 0, b"TEST",
            0x40, 0x20, 0xFFFF, 800, -200, 0, 800, 200, 0, 0, 500, 800, 0, 0, 1,
        ),
        b"hmtx": struct.pack(">Hh", 1000, 100) * glyphs,
        b"loca": struct.pack(f">{glyphs + 1}I", *(len(square) * number for number in range(glyphs + 1))),
        b"glyf": square * glyphs,
        b"cmap": _cmap([ord(one) for one in characters], cmap_format),
        b"name": _names({1: family, 2: "Regular", 4: family, 6: family.replace(" ", "")}),
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, 0, 0, 0, 0, 0, 0, 0),
    }  # fmt: skip


def _cmap(codes: list[int], cmap_format: int) -> bytes:
    if cmap_format == 12:
        groups = b"".join(struct.pack(">III", code, code, glyph) for glyph, code in enumerate(codes, 1))
        return struct.pack(">HHHHI", 0, 1, 3, 10, 12) + struct.pack(
            ">HHIII", 12, 0, 16 + len(groups), 0, len(codes)
        ) + groups  # fmt: skip
    segments = [*((code, (glyph - code) & 0xFFFF) for glyph, code in enumerate(codes, 1)), (0xFFFF, 1)]
    count = len(segments)
    ends = struct.pack(f">{count}H", *(code for code, _ in segments))
    deltas = struct.pack(f">{count}H", *(delta for _, delta in segments))
    body = ends + bytes(2) + ends + deltas + bytes(2 * count)
    exponent = count.bit_length() - 1
    search = struct.pack(">HHHH", 2 * count, 2 << exponent, exponent, 2 * count - (2 << exponent))
    return struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, 14 + len(body), 0) + search + body


def _names(names: Mapping[int, str]) -> bytes:
    records, texts = b"", b""
    for number, text in names.items():
        encoded = text.encode("utf-16-be")
        records += struct.pack(">HHHHHH", 3, 1, 0x409, number, len(encoded), len(texts))
        texts += encoded
    return struct.pack(">HHH", 0, len(names), 6 + len(records)) + records + texts
