"""Refuses JSON under another label that lenient parsers read, each in its own way, and ``parse_strict`` does not.

Such a body would pass as text. A server that ignores the label would act on members that no policy has read.
"""

import json
from typing import Final

from headgate.kernel.errors import AmbiguousRequestError

_BYTE_ORDER_MARKS: Final = b"\xef\xbb\xbf\xff\xfe"
_SPACE: Final = b" \t\r\n\0"
_STARTS: Final = (b"{", b"[")


def refuse_lenient_json(text: bytes, reason: str) -> None:
    """``reason``: why ``parse_strict`` refuses the text. Text that no common parser reads as JSON passes: templates,
    lines of a log, JSON with comments or with other data behind it.

    Raises AmbiguousRequestError: ``text`` is an object or a list that some parsers read, although it has duplicate
    keys, NaN, bytes that are not UTF-8, or too many levels.
    """
    if text.lstrip(_BYTE_ORDER_MARKS + _SPACE)[:1] in _STARTS and _is_read(text):
        raise AmbiguousRequestError(
            f"the body is JSON under another Content-Type, and parsers read it differently: {reason}",
            details={"field": "body"},
        )


def _is_read(text: bytes) -> bool:
    """Whether a lenient parser reads ``text``: one that detects UTF-8, UTF-16 and UTF-32, as Python does (RFC 4627,
    section 3), or one that replaces bytes that are not UTF-8, as Go and Node.js do."""
    replaced = text.decode("utf-8", "replace")
    for one in (text, replaced) if "\ufffd" in replaced else (text,):
        try:
            json.loads(one, parse_int=float)
        except RecursionError:
            return True
        except ValueError:
            continue
        return True
    return False
