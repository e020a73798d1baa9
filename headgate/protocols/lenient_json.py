"""JSON that lenient parsers read, each in its own way, and ``parse_strict`` does not.

Under a label that is not JSON's such a body would pass as text: a server that ignores the label acts on it, and no
policy has read its members.
"""

import json
from typing import Final

from headgate.kernel.errors import AmbiguousRequestError

_BYTE_ORDER_MARKS: Final = b"\xef\xbb\xbf\xff\xfe"
_SPACE: Final = b" \t\r\n\0"
_STARTS: Final = (b"{", b"[")


def refuse_lenient_json(text: bytes, reason: str) -> None:
    """``reason``: why ``parse_strict`` refuses it. Text that is no JSON to any common parser is left: templates, lines
    of a log, JSON with comments or with other data behind it.

    Raises AmbiguousRequestError: an object or a list that servers read though members are there twice, a number is NaN,
    bytes are not UTF-8 or UTF-16, or it is nested too deep for some of them.
    """
    if text.lstrip(_BYTE_ORDER_MARKS + _SPACE)[:1] in _STARTS and _is_read(text):
        raise AmbiguousRequestError(
            f"the body is JSON under another label, and parsers differ in what they read of it: {reason}",
            details={"field": "body"},
        )


def _is_read(text: bytes) -> bool:
    """By Python, which finds out whether it is UTF-8, UTF-16 or UTF-32 (RFC 4627, section 3); and by Go and Node.js,
    which replace bytes that are not UTF-8."""
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
