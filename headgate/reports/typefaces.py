"""The fonts that whoever runs Headgate has named for reports: read, and told what the typesetter calls them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import typst
from msgspec import Struct

from headgate.kernel.errors import ErrorCode, HeadgateError
from headgate.reports.fonts import LATIN
from headgate.reports.glyphs import characters_of
from headgate.reports.scripts import scripts_of

_ENDINGS: Final = (".ttf", ".otf", ".ttc", ".otc")
"""The typesetter looks at no other file."""


class FontError(HeadgateError):
    """A font that cannot be used; the message names its file and says why."""

    code = ErrorCode.VALIDATION_ERROR


class Typeface(Struct, frozen=True):
    """``path`` has no links in it. ``family``: what the typesetter calls it, in pages and in charts. ``sha256``: of the
    file, hexadecimal. Of a collection, this is the first font."""

    path: Path
    family: str
    sha256: str
    characters: frozenset[int]
    scripts: tuple[str, ...]


def open_typefaces(paths: Sequence[Path]) -> tuple[Typeface, ...]:
    """Raises FontError. One file a family: of two the typesetter would choose by itself."""
    families = _families(paths) if paths else {}
    taken = dict.fromkeys((LATIN, *_brought_along()), "the typesetter's own") if paths else {}
    found: list[Typeface] = []
    for path in paths:
        content = _content(path)
        try:
            characters = characters_of(content)
        except ValueError as error:
            raise _not_a_font(path, str(error)) from error
        real = path.resolve()
        family = families.get(real)
        if family is None:
            raise _not_a_font(path, "the typesetter finds no font in it")
        if family in taken:
            raise FontError(f"the font {path} cannot be used: {taken[family]} is of its family as well, {family}")
        taken[family] = str(path)
        found.append(Typeface(real, family, sha256(content).hexdigest(), characters, scripts_of(characters)))
    return tuple(found)


@contextmanager
def linked(paths: Sequence[Path]) -> Iterator[Path]:
    """A folder with these files and no other, because the typesetter takes folders: what lies beside a font stays out
    of the report. Links, so that a process that is killed leaves nothing of any size."""
    with TemporaryDirectory(prefix="headgate-fonts-") as name:
        folder = Path(name)
        for number, path in enumerate(paths):
            real = path.resolve()
            (folder / f"{number}{real.suffix}").symlink_to(real)
        yield folder


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise FontError(f"the font {path} cannot be used: no such file") from error
    except OSError as error:
        raise FontError(f"the font {path} cannot be used: {error.strerror}") from error
    if path.resolve().suffix.lower() not in _ENDINGS:
        raise FontError(f"the font {path} cannot be used: its name ends with none of {', '.join(_ENDINGS)}")
    return content


def _not_a_font(path: Path, reason: str) -> FontError:
    return FontError(f"the font {path} cannot be used: it is no TrueType or OpenType font ({reason})")


def _families(paths: Sequence[Path]) -> dict[Path, str]:
    with linked(paths) as folder:
        fonts = typst.Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[folder]).fonts()
    return {Path(one.path): one.family for one in fonts if one.path is not None and one.index == 0}


def _brought_along() -> list[str]:
    return list(typst.Fonts(include_system_fonts=False, include_embedded_fonts=True).families())
