"""A Content-Type (RFC 9110, section 8.3.1), read in the one way in which every server reads it, or refused.

Refused are lists (``application/json, text/plain``: which of the two counts?), a parameter that is there twice,
RFC 2231 continuations (``boundary*0=``), escapes in quoted strings, and what is no media type at all.
"""

import re
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError
from headgate.kernel.short_key_cache import short_key_cache

_WORD: Final = r"[!#$%&'+.^_`|~0-9A-Za-z-]+"
_WHOLE: Final = re.compile(rf"[ \t]*({_WORD}/{_WORD})[ \t]*((?:;[^;\"]*(?:\"[^\"]*\")?[ \t]*)*)")
_PARAMETER: Final = re.compile(rf";[ \t]*(?:({_WORD})=(?:({_WORD})|\"([!#-\[\]-~][ -!#-\[\]-~]*)\"))?[ \t]*")
_UTF8: Final = frozenset({"", "utf-8", "utf8"})
_ASCII_SUPERSETS: Final = ("us-ascii", "ascii", "iso-8859-", "latin1", "latin-1", "windows-125", "cp125")


class ContentType(Struct, frozen=True):
    """``media_type`` and ``charset`` in lower case; ``charset`` and ``boundary`` are empty where none is named."""

    media_type: str
    charset: str
    boundary: str

    @property
    def is_utf8(self) -> bool:
        return self.charset in _UTF8

    @property
    def extends_ascii(self) -> bool:
        """Whether bytes of ASCII are the same text in this charset as in UTF-8."""
        return self.charset in _UTF8 or self.charset.startswith(_ASCII_SUPERSETS)


NO_CONTENT_TYPE: Final = ContentType("", "", "")


@short_key_cache(1024)
def read_content_type(value: str) -> ContentType:
    """Bounded, as agents choose the values. Raises AmbiguousRequestError."""
    if not value.strip(" \t"):
        return NO_CONTENT_TYPE
    match = _WHOLE.fullmatch(value)
    if match is None:
        raise _ambiguous("it is not one media type with its parameters")
    parameters: dict[str, str] = {}
    rest, at = match[2], 0
    while at < len(rest):
        parameter = _PARAMETER.match(rest, at)
        if parameter is None:
            raise _ambiguous("a parameter is not written as name=value")
        at = parameter.end()
        name = (parameter[1] or "").lower()
        if name in parameters:
            raise _ambiguous(f"the parameter {name[:40]} is there more than once")
        if name:
            parameters[name] = parameter[2] or parameter[3]
    return ContentType(match[1].lower(), parameters.get("charset", "").lower(), parameters.get("boundary", ""))


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the Content-Type can be read in more than one way: {reason}", details={"field": "content-type"}
    )
