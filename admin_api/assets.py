"""Style sheets and scripts of the pages: read once, served under names that carry their content's hash.

A name never changes its content, so that browsers keep it for a year; a new version has a new name. The style sheets
in ``static/css`` are served as one, in the order of their names. Scripts are served without their lines of comments, a
quarter of what a browser would fetch.
"""

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from admin_api.compression import accepts_gzip
from admin_api.description.parameters import in_path
from admin_api.guarded_route import GuardedRoute
from headgate.kernel.errors import NotFoundError

router = APIRouter(route_class=GuardedRoute, tags=["service"])

_STATIC: Final = Path(__file__).parent / "static"
_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HASH_CHARACTERS: Final = 12
_BUNDLE: Final = "editor.js"
_COMMENTS: Final = re.compile(rb"^[ \t]*//.*\n", re.MULTILINE)
"""Lines that are nothing else. A test checks that none of them stands in a text of several lines."""


class Asset(Struct, frozen=True):
    """``path`` is its address here."""

    path: str
    media_type: str
    content: bytes


def _read_assets() -> dict[str, Asset]:
    """By the plain name."""
    contents = {"app.css": b"".join(one.read_bytes() for one in sorted((_STATIC / "css").glob("*.css")))}
    contents |= {one.name: one.read_bytes() for one in _STATIC.iterdir() if one.suffix in _MEDIA_TYPES}
    contents |= {name: _COMMENTS.sub(b"", text) for name, text in contents.items() if _is_written_script(name)}
    contents |= _waiting_icons(contents.pop("waiting.svg").decode())
    return {name: _asset(name, content) for name, content in contents.items()}


def _is_written_script(name: str) -> bool:
    return name.endswith(".js") and name != _BUNDLE


def _waiting_icons(drawing: str) -> dict[str, bytes]:
    """The icons of pages while requests are open: one for each count from 1 to 9, and one for more."""
    icons = {f"waiting-{count}.svg": (str(count), 16, 15.5) for count in range(1, 10)}
    icons["waiting-many.svg"] = ("9+", 13, 14.5)
    return {
        name: drawing.replace("COUNT", text).replace("SIZE", str(size)).replace("BASELINE", str(baseline)).encode()
        for name, (text, size, baseline) in icons.items()
    }


def _asset(name: str, content: bytes) -> Asset:
    stem, _, suffix = name.rpartition(".")
    digest = hashlib.sha256(content).hexdigest()[:_HASH_CHARACTERS]
    media_type = _MEDIA_TYPES[f".{suffix}"]
    return Asset(f"/static/{stem}.{digest}.{suffix}", media_type, content)


_BY_NAME: Final = _read_assets()
_BY_PATH: Final = {one.path: one for one in _BY_NAME.values()}


@cache
def _compressed(path: str) -> bytes:
    """In gzip (RFC 1952), when it is first asked for: a start need not wait for it."""
    return gzip.compress(_BY_PATH[path].content, mtime=0)


def asset(name: str) -> str:
    """The address of a file of ``static``. Raises KeyError."""
    return _BY_NAME[name].path


@router.get("/static/{name}", response_class=Response, openapi_extra={"parameters": [in_path("name", maxLength=128)]})
async def static(request: Request) -> Response:
    """Serves a style sheet or script of the pages."""
    found = _BY_PATH.get(request.url.path)
    if found is None:
        raise NotFoundError("no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    content = found.content
    if accepts_gzip(request):
        content, headers = _compressed(found.path), headers | {"Content-Encoding": "gzip"}
    return Response(content, media_type=found.media_type, headers=headers)
