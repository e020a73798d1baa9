"""The fonts of a PDF: those that are named set what Source Sans Pro lacks, and what none has is written out."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.reports import pdf_writer
from headgate.reports.blocks import Fields, Paragraph
from headgate.reports.compose_verify import UsedFont, verify_part
from headgate.reports.fonts import LATIN, LATIN_FOLDER, latin, runs
from headgate.reports.glyphs import characters_of
from headgate.reports.model import ReportFormat, Section
from headgate.reports.pdf_writer import try_typefaces
from headgate.reports.statements import Facts
from headgate.reports.tally import Tally
from headgate.reports.typefaces import FontError, open_typefaces
from tests.unit.reports.run_of import Told, action, agent, basis_of, made, sealed
from tests.unit.reports.tiny_font import font_of, write_font


def _pdf(text: str, *fonts: Path, form: ReportFormat = ReportFormat.PDF) -> bytes:
    events: list[Told] = action(1, agent(text), "deny", reason=text)
    return made(sealed(events), basis_of(len(events), form, organization=text), fonts)


def _is_archivable(pdf: bytes) -> bool:
    """What the typesetter writes only where it has kept the rules."""
    return b"<pdfaid:part>2</pdfaid:part>" in pdf and b"<pdfuaid:part>1</pdfuaid:part>" in pdf


@pytest.fixture
def times_set(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what the typesetter made, and 0 where it refused."""
    sizes: list[int] = []
    really = pdf_writer._typeset

    def typeset(*arguments: Any) -> bytes:
        sizes.append(0)
        content = really(*arguments)
        sizes[-1] = len(content)
        return content

    monkeypatch.setattr(pdf_writer, "_typeset", typeset)
    return sizes


@pytest.mark.parametrize("text", ["東京", "简体中文", "繁體中文", "こんにちは", "안녕하세요", "，。「」"])  # noqa: RUF001
def test_without_fonts_it_is_written_out_and_with_one_it_is_set(text: str, tmp_path: Path) -> None:
    font = write_font(tmp_path / "font.ttf", "East Asian Squares", text)
    latin_only, written_out, set_in_it = _pdf("Northwind"), _pdf(text), _pdf(text, font)
    assert all(map(_is_archivable, (latin_only, written_out, set_in_it)))
    assert b"EastAsianSquares" not in written_out
    assert b"EastAsianSquares" in set_in_it, "the font is embedded where it draws something"
    assert b"EastAsianSquares" not in _pdf("Northwind", font)
    assert _pdf(text, font) == set_in_it


def test_the_same_file_needs_the_same_fonts_and_html_needs_none(tmp_path: Path) -> None:
    one = write_font(tmp_path / "one.ttf", "Squares First", "東京")
    other = write_font(tmp_path / "other.ttf", "Squares Second", "東京大")
    first, second = _pdf("東京", one, other), _pdf("東京", other, one)
    assert (b"SquaresFirst" in first, b"SquaresSecond" in first) == (True, False), (
        "the first that has a character sets it"
    )
    assert (b"SquaresFirst" in second, b"SquaresSecond" in second) == (False, True)
    assert _pdf("東京", one) == _pdf("東京", one) != first
    assert _pdf("東京", one, form=ReportFormat.HTML) == _pdf("東京", form=ReportFormat.HTML)


def test_what_lies_beside_a_font_is_not_looked_at(tmp_path: Path) -> None:
    font = write_font(tmp_path / "font.ttf", "Squares First", "東")
    alone = _pdf("東京", font)
    write_font(tmp_path / "beside.ttf", "Squares Second", "東京")
    assert _pdf("東京", font) == alone


@pytest.mark.parametrize("text", ["東京 office", "ffi東京", "東 fi 京 ffl"])
def test_a_name_in_another_script_beside_a_ligature_is_drawn_in_charts(
    text: str, tmp_path: Path, times_set: list[int]
) -> None:
    font = write_font(tmp_path / "font.ttf", "Squares", "東京")
    events: list[Told] = [one for number in range(3) for one in action(number, agent(text), "deny")]
    basis = basis_of(len(events), ReportFormat.PDF, sections=(Section.AGENTS, Section.ACTIONS))
    assert _is_archivable(made(sealed(events), basis, [font]))
    assert len(times_set) == 1, "at once, and not in spite of it"


_COMBINING = ("東\u3099京", "東 \u0301京", "\u0627\u0301 é", "\u0e01\u0e33", "東e\u3099", "\u3099 office 東\u3099")


@pytest.mark.parametrize("text", _COMBINING)
def test_what_combines_is_set_or_written_out(text: str, tmp_path: Path, times_set: list[int]) -> None:
    of_am = "\u0e4d\u0e32"  # what the typesetter makes of Thai "am"
    of_text = "".join(one for one in text if not one.isascii())
    font = write_font(tmp_path / "font.ttf", "Squares", of_text + of_am)
    pdf = _pdf(text, font)
    assert _is_archivable(pdf)
    assert b"Squares" in pdf
    assert len(times_set) == 1, "at once, and not in spite of it"


def test_a_glyph_that_is_not_there_is_no_reason_to_have_no_report(tmp_path: Path) -> None:
    font = write_font(tmp_path / "font.ttf", "Squares", "東京")
    tables = _tables_of(font.read_bytes())
    tables[b"cmap"] = tables[b"cmap"][:-4] + b"\0\0\0\x63"
    font.write_bytes(font_of(tables))
    assert b"Squares" in _pdf("京", font)
    assert _pdf("東", font) == _pdf("東"), "as without fonts, and saying so"


_FIRST, _SECOND = frozenset(map(ord, "東\u0301\u3099é")), frozenset(map(ord, "京東👍🏽"))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Robot", [(0, "Robot")]),
        ("東京", [(1, "東"), (2, "京")]),
        ("a東b", [(0, "a"), (1, "東"), (0, "b")]),
        ("大a", [(0, "\\u{5927}a")]),
        ("東\n京", [(1, "東"), (0, "\n"), (2, "京")]),
        ("\u202e東", [(0, "\\u{202e}"), (1, "東")]),
        ("東\u3099", [(1, "東\u3099")]),
        ("東\u0301", [(1, "東\u0301")]),
        ("e\u3099", [(0, "e\\u{3099}")]),
        ("京\u3099", [(2, "京"), (0, "\\u{3099}")]),
        ("\u3099", [(0, "\\u{3099}")]),
        ("大\u3099", [(0, "\\u{5927}\\u{3099}")]),
        ("👍🏽", [(2, "👍🏽")]),
        ("東🏽", [(1, "東"), (0, "\\u{1f3fd}")]),
    ],
)
def test_text_is_cut_where_its_font_changes(text: str, pieces: list[tuple[int, str]]) -> None:
    assert list(runs(text, (latin(), _FIRST, _SECOND))) == pieces


def test_both_usual_tables_of_characters_are_read(tmp_path: Path) -> None:
    text = "é東京\uac00"
    for form, more in ((4, ""), (12, "🤖")):
        font = write_font(tmp_path / f"{form}.ttf", "Squares", text + more, cmap_format=form)
        assert characters_of(font.read_bytes()) == frozenset(map(ord, text + more))
        assert _is_archivable(_pdf(text + more, font))


def test_of_a_collection_the_first_font_is_taken(tmp_path: Path) -> None:
    """A header, then the fonts, whose tables' offsets count from the beginning of the file."""
    first = write_font(tmp_path / "one.ttf", "Squares First", "東").read_bytes()
    second = write_font(tmp_path / "other.ttf", "Squares Second", "京").read_bytes()
    header = b"ttcf" + b"".join(one.to_bytes(4, "big") for one in (0x10000, 2, 20, 20 + len(first)))
    moved = [font_of(_tables_of(one), at) for one, at in ((first, 20), (second, 20 + len(first)))]
    collection = tmp_path / "both.ttc"
    collection.write_bytes(header + b"".join(moved))
    (found,) = open_typefaces([collection])
    assert (found.family, found.characters) == ("Squares First", {ord("東")})
    assert b"SquaresFirst" in _pdf("東京", collection)


def _tables_of(font: bytes) -> dict[bytes, bytes]:
    found = {}
    for entry in range(12, 12 + 16 * int.from_bytes(font[4:6], "big"), 16):
        offset, length = (int.from_bytes(font[entry + at : entry + at + 4], "big") for at in (8, 12))
        found[font[entry : entry + 4]] = font[offset : offset + length]
    return found


def _without(tag: bytes) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        tables = _tables_of(write_font(file, "Squares", "東京").read_bytes())
        file.write_bytes(font_of({name: table for name, table in tables.items() if name != tag}))

    return write


@pytest.mark.parametrize(
    ("name", "write", "reason"),
    [
        ("none.ttf", lambda file: None, "no such file"),
        ("folder.ttf", lambda file: file.mkdir(), "Is a directory"),
        ("font.txt", lambda file: write_font(file, "Squares", "東"), "ends with none of .ttf, .otf, .ttc, .otc"),
        ("empty.ttf", lambda file: file.touch(), "no TrueType or OpenType font"),
        ("text.ttf", lambda file: file.write_text("東京" * 500), "no TrueType or OpenType font"),
        ("short.ttf", lambda file: file.write_bytes(write_font(file, "S", "東").read_bytes()[:300]), "no TrueType"),
        ("cmap.ttf", _without(b"cmap"), "it has no table cmap"),
        ("glyf.ttf", _without(b"glyf"), "it draws nothing"),
        ("head.ttf", _without(b"head"), "the typesetter finds no font in it"),
        ("own.ttf", lambda file: write_font(file, LATIN, "東"), "the typesetter's own is of its family"),
        ("mono.ttf", lambda file: write_font(file, "DejaVu Sans Mono", "東"), "the typesetter's own is of its family"),
        ("twice.ttf", lambda file: write_font(file, "Good", "東"), "good.ttf is of its family as well, Good"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_no_font_is_named(name: str, write: Callable[[Path], object], reason: str, tmp_path: Path) -> None:
    good = write_font(tmp_path / "good.ttf", "Good", "京")
    write(tmp_path / name)
    with pytest.raises(FontError, match=f"^the font {re.escape(str(tmp_path / name))} cannot be used: ") as caught:
        try_typefaces(open_typefaces([good, tmp_path / name]))
    assert reason in caught.value.message


@pytest.mark.parametrize(("tag", "reason"), [(b"loca", "malformed font"), (b"OS/2", "too restrictive")])
def test_what_only_a_pdf_shows_is_seen_when_a_font_is_tried(tag: bytes, reason: str, tmp_path: Path) -> None:
    """Glyphs that are not where the font says; a licence that forbids to embed it (``fsType`` 2)."""
    tables = _tables_of(write_font(tmp_path / "font.ttf", "Squares", "東京").read_bytes())
    if tag == b"OS/2":
        tables[tag] = tables[tag][:8] + b"\0\2" + tables[tag][10:]
    else:
        del tables[tag]
    (tmp_path / "font.ttf").write_bytes(font_of(tables))
    typefaces = open_typefaces([tmp_path / "font.ttf"])
    with pytest.raises(FontError, match=f"font.ttf cannot be used: .*{reason}"):
        try_typefaces(typefaces)


def test_outlines_of_postscript_are_read_as_well() -> None:
    assert characters_of((LATIN_FOLDER / "SourceSansPro-Regular.otf").read_bytes()) == latin()
    assert latin() >= frozenset(map(ord, "Latin, Ελληνικά, Кириллица"))


def _last_page(form: ReportFormat, *fonts: UsedFont) -> tuple[str, dict[str, str]]:
    part = verify_part(Facts(basis_of(0, form), Tally(frozenset()), None), fonts)
    text = " ".join(one.text for one in part.blocks if isinstance(one, Paragraph))
    return text, {name: value for one in part.blocks if isinstance(one, Fields) for name, value in one.items}


def test_the_last_page_says_which_fonts_there_are_and_that_the_rest_is_written_out(tmp_path: Path) -> None:
    font = write_font(tmp_path / "font.ttf", "Squares", "一人中国語あのアン")
    (typeface,) = open_typefaces([font])
    text, fields = _last_page(ReportFormat.PDF, UsedFont(typeface.family, typeface.scripts, typeface.sha256))
    assert "so are those that its fonts do not have" in text
    assert "Source Sans Pro (Latin, Greek, Cyrillic); what that lacks, in Squares (Chinese characters, kana)." in text
    assert "the same checkpoint, with the same fonts, it is the same file" in text
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", fields["Font: Squares"])

    text, fields = _last_page(ReportFormat.PDF)
    assert "so are those that its fonts do not have" in text
    assert "(Latin, Greek, Cyrillic) and in no other font." in text
    assert not any(name.startswith("Font") for name in fields)

    text, _ = _last_page(ReportFormat.HTML)
    assert "in a PDF so are those that its fonts do not have" in text
    assert "with the same fonts" not in text


def test_a_font_may_be_named_by_a_link(tmp_path: Path) -> None:
    font = write_font(tmp_path / "font.ttf", "Squares", "東京")
    (tmp_path / "link").symlink_to(font)
    assert open_typefaces([tmp_path / "link"]) == open_typefaces([font])
    assert _pdf("東京", tmp_path / "link") == _pdf("東京", font)
