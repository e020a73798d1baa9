"""What docs/reference/errors.md says of each error code, which is the only place where it is said."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import reference_path
from headgate.kernel.errors import ErrorCode

_ROW: Final = re.compile(r"^\| `([A-Z_]+)` \| (\d{3}) \| (gate|API|both) \| (.+) \|$", re.MULTILINE)
_SECTION: Final = re.compile(r"^### ([A-Z_]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE: Final = re.compile(r"```json\n(.*?)```", re.DOTALL)
_STATUS: Final = re.compile(r"^\d{3}\. ")
_ADVICE: Final = "*Agent:*"
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_CODE: Final = re.compile(r"(`[^`]+`)")
_EMPHASIS: Final = re.compile(r"\*+([^*]+)\*+")


class Words(Struct, frozen=True):
    """A piece of a sentence. ``is_code``: it stands in the words of a program."""

    text: str
    is_code: bool


type Paragraph = tuple[Words, ...]


class ErrorPage(Struct, frozen=True):
    """``origin``: gate, API or both. ``when``: the reason in a few words. ``example``: a body, in JSON. ``advice``:
    what an agent should do."""

    code: str
    status: int
    origin: str
    when: Paragraph
    text: tuple[Paragraph, ...]
    example: str
    advice: tuple[Paragraph, ...]


@cache
def error_pages() -> Mapping[str, ErrorPage]:
    """By code. Raises LookupError where the reference does not describe a code."""
    pages = parse_errors(reference_path("errors.md").read_text("utf-8"))
    if missing := [code for code in ErrorCode if code not in pages]:
        raise LookupError(f"docs/reference/errors.md does not describe {', '.join(missing)}")
    return pages


def parse_errors(markdown: str) -> Mapping[str, ErrorPage]:
    sections = dict(_SECTION.findall(markdown))
    return {
        code: _page(code, int(status), origin, when, sections.get(code, ""))
        for code, status, origin, when in _ROW.findall(markdown)
    }


def _page(code: str, status: int, origin: str, when: str, section: str) -> ErrorPage:
    example = _EXAMPLE.search(section)
    text, _, advice = _EXAMPLE.sub("", section).partition(_ADVICE)
    return ErrorPage(
        code,
        status,
        origin,
        _words(when),
        _paragraphs(_STATUS.sub("", text.strip())),
        example[1].strip() if example else "",
        _paragraphs(advice),
    )


def _paragraphs(markdown: str) -> tuple[Paragraph, ...]:
    blocks = (" ".join(one.split()) for one in re.split(r"\n\s*\n", markdown))
    return tuple(_words(one) for one in blocks if one)


def _words(markdown: str) -> Paragraph:
    """Links are reduced to their words: they lead to other pages of the documentation."""
    plain = _LINK.sub(r"\1", markdown)
    pieces = (one for one in _CODE.split(plain) if one)
    return tuple(
        Words(one.strip("`"), True) if _CODE.fullmatch(one) else Words(_EMPHASIS.sub(r"\1", one), False)
        for one in pieces
    )
