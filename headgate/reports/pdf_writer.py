"""A report as PDF/A-2a and PDF/UA-1 (to be archived, and to be read aloud), typeset by typst (docs/decisions/0023).

Values reach the template as JSON and are set as text: typst evaluates markup only where it is told to, and the template
never tells it. Only fonts of the package and those that are named are used, so that with the same fonts the same report
is the same file on every machine.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typst
from msgspec import to_builtins

from headgate.reports.blocks import ReportDocument
from headgate.reports.charts import FONT
from headgate.reports.fonts import LATIN_FOLDER, latin, runs
from headgate.reports.typefaces import FontError, Typeface, linked

_TEMPLATE: Final = Path(__file__).parent / "templates" / "report.typ"
_SAMPLE: Final = _TEMPLATE.with_name("sample.typ")
_TEXT: Final = re.compile("(?<=>)[^<]+(?=</text>)")
_SAMPLE_CHARACTERS: Final = 200


def render_pdf(document: ReportDocument, typefaces: Sequence[Typeface] = ()) -> bytes:
    """Raises RuntimeError, with what the typesetter says. Charts are drawn by something else than pages are set by, and
    what it cannot draw in the named fonts is written out there, rather than leaving somebody without a report."""
    try:
        return _render(document, typefaces, charts=typefaces)
    except RuntimeError:
        if not typefaces:
            raise
    return _render(document, typefaces, charts=())


def _render(document: ReportDocument, typefaces: Sequence[Typeface], charts: Sequence[Typeface]) -> bytes:
    texts = {**to_builtins(document), "ends_at": f"{document.ends_at:%Y-%m-%d}"}
    shown = {**_drawable(texts, typefaces, charts), "fonts": [one.family for one in typefaces]}
    return _typeset(_TEMPLATE, shown, typefaces, int(document.ends_at.timestamp()))


def try_typefaces(typefaces: Sequence[Typeface]) -> None:
    """Sets some characters in each. Raises FontError where that is no PDF/A: a font without outlines, a broken one."""
    for one in typefaces:
        own = sorted(one.characters - latin())
        sample = "".join(map(chr, own[:: len(own) // _SAMPLE_CHARACTERS + 1]))
        text = _drawable(sample, (one,), ())
        try:
            _typeset(_SAMPLE, {"fonts": [one.family], "text": text}, (one,), 0)
        except RuntimeError as error:
            raise FontError(f"the font {one.path} cannot be used: {error}") from error


def _typeset(template: Path, document: Mapping[str, Any], typefaces: Sequence[Typeface], timestamp: int) -> bytes:
    try:
        with linked([one.path for one in typefaces]) as folder:
            content, warnings = typst.compile_with_warnings(
                template,
                output=None,
                format="pdf",
                sys_inputs={"document": json.dumps(document)},
                font_paths=[LATIN_FOLDER, folder],
                ignore_system_fonts=True,
                pdf_standards=["a-2a", "ua-1"],
                timestamp=timestamp,
            )
    except typst.TypstError as error:
        raise RuntimeError(f"typst: {error}") from error
    if warnings:
        raise RuntimeError(f"the template warns: {warnings[0].message}")
    return content


def _drawable(value: Any, typefaces: Sequence[Typeface], charts: Sequence[Typeface]) -> Any:
    """Every text with what its reader could not see written out, and what no font has."""
    if isinstance(value, str):
        return "".join(text for _, text in runs(value, _characters(typefaces)))
    if isinstance(value, dict):
        return {
            name: _chart(one, charts) if name == "svg" else _drawable(one, typefaces, charts)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_drawable(one, typefaces, charts) for one in value]
    return value


def _chart(svg: str, typefaces: Sequence[Typeface]) -> str:
    """What draws charts looks for a missing character in another font only where both make as many glyphs of the whole
    text, which ligatures prevent. So each text is set in one font that has all of it, or else cut into elements that
    name theirs; without marks, because what they stand for is lost there, and a PDF/A needs it."""
    return _TEXT.sub(lambda found: _label(found[0], typefaces), svg)


def _label(text: str, typefaces: Sequence[Typeface]) -> str:
    fonts = _characters(typefaces)
    pieces = list(runs(text, fonts))
    if any(number for number, _ in pieces):
        text = "".join(piece for _, piece in runs(text, fonts, are_marks_kept=False))
        whole = (number for number, font in enumerate(fonts) if all(ord(one) in font for one in text))
        first = next(whole, None)
        pieces = list(runs(text, fonts)) if first is None else [(first, text)]
    return "".join(_element(number, piece, typefaces) for number, piece in pieces)


def _element(number: int, text: str, typefaces: Sequence[Typeface]) -> str:
    if number == 0:
        return text
    return f"<tspan font-family=\"'{typefaces[number - 1].family}', {FONT}\">{text}</tspan>"


def _characters(typefaces: Sequence[Typeface]) -> tuple[frozenset[int], ...]:
    return (latin(), *(one.characters for one in typefaces))
