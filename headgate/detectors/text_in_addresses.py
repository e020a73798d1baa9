"""Text in the bytes of an IPv6 address to which a call goes: who sees the packets reads it (MITRE ATT&CK T1048.003).

The last part of an address is chosen by its machine, mostly at random (RFC 8981): of such bytes, eight in a row are
letters by chance once in some millions.
"""

import re
from ipaddress import IPv6Address
from typing import Final

_TEXT: Final = re.compile(rb"[ -~]{8,}")
_LETTERS_SHARE_MIN: Final = 0.75


def has_text(host: str) -> bool:
    """``host``: with or without brackets; of a name or an address of version 4, False."""
    if host.count(":") < 2:
        return False
    try:
        packed = IPv6Address(host.strip("[]").partition("%")[0]).packed
    except ValueError:
        return False
    return any(_is_words(found[0]) for found in _TEXT.finditer(packed))


def _is_words(text: bytes) -> bool:
    letters = sum(chr(one).isalpha() or one == 0x20 for one in text)
    return letters >= _LETTERS_SHARE_MIN * len(text)
