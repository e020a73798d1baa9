"""What stands before a text in the buffer: the member's name, as a label does in a form."""

import re
from functools import lru_cache
from typing import Final

from headgate.detectors.visible import visible

_WORD_BREAK: Final = re.compile(r"[_\-.]+|(?<=[a-z])(?=[A-Z])")
_NAME_MAX: Final = 64
_GENERIC_NAMES: Final = frozenset(("value", "number", "no", "text", "content", "data", "raw", "id", "#text"))


class Labels:
    """Of one document, which they must not know: the engine's buffer calls ``label``, and a cycle through an object of
    the engine is never collected."""

    __slots__ = ("_long_names",)

    def __init__(self) -> None:
        self._long_names: set[str] = set()

    def size(self, name: str) -> int:
        """About how many bytes the next label of this name takes."""
        return _NAME_MAX if len(name) > _NAME_MAX and name in self._long_names else len(name)

    def label(self, name: str, above: str | None) -> bytes:
        """The name; where it says nothing by itself (``value``), with the one above. A name of megabytes stands before
        the first of its values only: each of a thousand would repeat it."""
        if len(name) <= _NAME_MAX:
            return _short_label(name, above if above is not None and len(above) <= _NAME_MAX else None)
        return _shown(name if self._is_new_long_name(name) else name[:_NAME_MAX])

    def _is_new_long_name(self, name: str) -> bool:
        if name in self._long_names:
            return False
        self._long_names.add(name)
        return True


@lru_cache(4096)
def _short_label(name: str, above: str | None) -> bytes:
    """Of names that clients choose: the bound in length is one in memory."""
    return _shown(f"{above} {name}" if name.lower() in _GENERIC_NAMES and above not in (None, name) else name)


def _shown(name: str) -> bytes:
    """``dateOfBirth`` is read as the words that it is made of as well."""
    if not name:
        return b""
    name, _ = visible(name)
    if len(name) <= _NAME_MAX:
        words = _WORD_BREAK.sub(" ", name).strip()
        shown = name if words == name else f"{words} {name}"
    else:
        shown = name
    return f"{shown}: ".encode("utf-8", "replace")
