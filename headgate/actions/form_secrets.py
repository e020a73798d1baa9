"""Multipart forms without the contents of parts whose names say that they are secret. Pure."""

import re
from typing import Final
from urllib.parse import unquote

from headgate.actions.masking_rules import masking_rules
from headgate.kernel.secrets import MASK

_DELIMITER: Final = re.compile(r"^--[^\r\n]+", re.MULTILINE)
_HEAD_END: Final = re.compile(r"\r?\n\r?\n")
_NAMES: Final = re.compile(r"""\bname(?P<coded>\*?)=(?:"(?P<quoted>[^"\r\n]*)|(?P<bare>[^;\s]+))""", re.IGNORECASE)


def mask_form_parts(text: str) -> str:
    """``multipart/form-data`` (RFC 7578, section 4.2) without the contents of parts whose names say that they are
    secret. Its first delimiter is the form's; what looks like one inside a part only ends the part for us where it is
    the same."""
    first = _DELIMITER.search(text)
    if first is None:
        return text
    preamble, *parts = re.split("^" + re.escape(first[0]), text, flags=re.MULTILINE)
    return first[0].join([preamble, *map(_mask_part, parts)])


def _mask_part(part: str) -> str:
    head, end, content = _cut(part)
    if not content or not any(masking_rules().is_secret_name(name) for name in _names(head)):
        return part
    return f"{head}{end}{MASK}\r\n"


def _cut(part: str) -> tuple[str, str, str]:
    found = _HEAD_END.search(part)
    return (part, "", "") if found is None else (part[: found.start()], found[0], part[found.end() :])


def _names(head: str) -> list[str]:
    """With ``name*`` (RFC 8187), which the standard forbids and some send."""
    found: list[str] = []
    for one in _NAMES.finditer(head):
        value = one["quoted"] if one["quoted"] is not None else one["bare"]
        found.append(unquote(value.rpartition("'")[2]) if one["coded"] else unquote(value))
    return found
