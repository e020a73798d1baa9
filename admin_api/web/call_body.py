"""/calls/{action_id}/body: the bytes of a held call's body that its params do not show, a part at a time.

The page renders on the server, so that a body of ten megabytes costs a browser no more than one part.
"""

import base64
import codecs
from enum import StrEnum
from typing import Annotated, Final

from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.responses import Response

from admin_api.actions.body_routes import PART_BYTES, part
from admin_api.actions.body_schemas import BodyPartAnswer
from admin_api.actions.routes import get
from admin_api.identifiers import ActionId
from admin_api.web.api import CurrentApi
from admin_api.web.page_route import PageRoute
from admin_api.web.shell import shell_page
from headgate.kernel.errors import ValidationError

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ROW_BYTES: Final = 16
_TEXT_BYTES: Final = 16 << 10
_CHARACTER_BYTES: Final = 4
"""The longest character of UTF-8 (RFC 3629, section 3)."""


class View(StrEnum):
    """How the bytes are shown."""

    HEX = "hex"
    TEXT = "text"


class HexRow(Struct, frozen=True):
    """Sixteen bytes: their offset, their digits in two groups of eight, and their printable ASCII."""

    offset: str
    digits: tuple[str, str]
    characters: str


@router.get("/calls/{action_id}/body", response_class=Response)
async def body(
    api: CurrentApi,
    action_id: ActionId,
    view: Annotated[View | None, Query(description="Default: text, if the part is text.")] = None,
    offset: Annotated[str, Query(max_length=16, description="Where to begin, decimal or hexadecimal (0x…).")] = "0",
) -> Response:
    at = offset_of(offset)
    asked = _TEXT_BYTES + _CHARACTER_BYTES
    found = await api.call(part, action_id, api.principal, api.dependencies, at, asked)
    content = base64.b64decode(found.content)
    chosen = view or (View.TEXT if is_text(content[:_TEXT_BYTES]) else View.HEX)
    size = _TEXT_BYTES if chosen is View.TEXT else PART_BYTES
    answer = await api.call(get, action_id, api.request, api.principal, api.dependencies, expand="all")
    sent = (answer.request.http or {}).get("body_sha256")
    context = {
        "call": answer,
        "body": found,
        "sent_sha256": sent,
        "view": chosen.value,
        "rows": hex_rows(content[:size], at) if chosen is View.HEX else [],
        "text": text_of(content, size, is_first=at == 0) if chosen is View.TEXT else "",
        "first": at,
        "last": min(at + size, found.size),
        "pages": parts_of(found, at, size),
    }
    return await shell_page(api, "call_body.html", "/activity", context)


class Parts(Struct, frozen=True):
    """``number`` and ``count`` from 1 on. Offsets of the neighbors; None: there is none."""

    number: int
    count: int
    before: int | None
    after: int | None
    last: int


def parts_of(found: BodyPartAnswer, at: int, size: int) -> Parts:
    count = max(1, -(-found.size // size))
    return Parts(
        number=min(at // size + 1, count),
        count=count,
        before=max(0, at - size) if at > 0 else None,
        after=at + size if at + size < found.size else None,
        last=(count - 1) * size,
    )


def offset_of(text: str) -> int:
    """Raises ValidationError."""
    try:
        at = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        at = -1
    if not 0 <= at < 1 << 30 or not text.isascii():
        raise ValidationError(
            f"Invalid offset: {text}. Enter a number of bytes, such as 4096 or 0x1000.", details={"field": "offset"}
        )
    return at


def hex_rows(content: bytes, first: int) -> list[HexRow]:
    """As ``hexdump -C`` writes them. ``first``: the offset of the first byte."""
    rows: list[HexRow] = []
    for at in range(0, len(content), _ROW_BYTES):
        row = content[at : at + _ROW_BYTES]
        digits = row[:8].hex(" "), row[8:].hex(" ")
        characters = "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in row)
        rows.append(HexRow(f"{first + at:08x}", digits, characters))
    return rows


def is_text(content: bytes) -> bool:
    """Whether a part, which may begin and end inside a character, is UTF-8 without NUL."""
    try:
        # Not final: a character may go on in the next part.
        text = codecs.getincrementaldecoder("utf-8")().decode(content[_continuation(content) :])
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def text_of(content: bytes, size: int, *, is_first: bool) -> str:
    """The text of ``size`` bytes. A character that begins before the end is whole, and one that began in the part
    before is left to it. Bytes that are not UTF-8 are shown as U+FFFD."""
    start = 0 if is_first else _continuation(content)
    return content[start : size + _continuation(content[size:])].decode(errors="replace")


def _continuation(content: bytes) -> int:
    """How many bytes at the beginning continue a character: at most three do."""
    count = 0
    while count < min(len(content), _CHARACTER_BYTES - 1) and content[count] & 0xC0 == 0x80:
        count += 1
    return count
