"""Refuses names in query strings and forms that some servers read as other names.

qs (Express) and Rack 2 read ``[account]`` as ``account``, Rack 2 ``account]`` too. PHP drops spaces at the start of a
name and all after a NUL, and makes ``account_`` of ``account[`` (php.net, "Variables From External Sources"). Where
``account`` and ``account[]`` stand side by side, qs joins them, PHP takes the last one, and Rails refuses. Pure.
"""

import re
from collections.abc import Iterable
from typing import Final

from headgate.kernel.errors import AmbiguousRequestError

_BRACKET: Final = re.compile(r"[\[\]]")
# As Rails, PHP and qs nest (``a[b][]``), and as .NET and Spring do (``a[0].b``).
_PATH: Final = re.compile(r"[^\[\]]+\[[^\[\]]*\](?:\[[^\[\]]*\]|\.[^\[\].]+)*")
_NAME_CHARACTERS_SHOWN: Final = 80


def refuse_bracket_names(names: Iterable[str], *, field: str) -> None:
    """``names``: of a query string or a form. ``field``: where they are, for the message.

    Raises AmbiguousRequestError.
    """
    plain: set[str] = set()
    nested: set[str] = set()
    for name in names:
        if name.startswith(" ") or "\0" in name:
            raise _ambiguous(field, name, "some servers drop a space at the start, or everything after a NUL")
        bracket = _BRACKET.search(name)
        if bracket is None:
            plain.add(name)
        elif _PATH.fullmatch(name) is None:
            raise _ambiguous(field, name, "servers read the brackets differently")
        else:
            nested.add(name[: bracket.start()])
    both = plain & nested
    if both:
        raise _ambiguous(field, min(both), "the name occurs with and without brackets")


def _ambiguous(field: str, name: str, reason: str) -> AmbiguousRequestError:
    shown = name[:_NAME_CHARACTERS_SHOWN]
    return AmbiguousRequestError(
        f"the {field} can be read in more than one way: the member {shown!r}: {reason}", details={"field": field}
    )
