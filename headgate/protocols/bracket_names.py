"""Refuses names in query strings and forms that some servers read as other names.

qs (Express) and Rack 2 read ``[account]`` as ``account``, Rack 2 ``account]`` too. PHP drops spaces at the start of a
name and all after a NUL, and makes ``account_`` of ``account[``, and ``user_name`` of ``user.name`` and ``user name``
(php.net, "Variables From External Sources"). Where ``account`` and ``account[]`` stand side by side, qs joins them, PHP
takes the last one, and Rails refuses; the same holds one level deeper. qs and PHP drop ``.name`` behind a bracket:
only behind the index of a list it is a form that .NET and Spring document. Pure.
"""

import re
from collections.abc import Iterable
from typing import Final

from headgate.kernel.errors import AmbiguousRequestError

_BRACKET: Final = re.compile(r"[\[\]]")
# As Rails, PHP and qs nest (``a[b][]``), and as .NET and Spring do (``a[0].b``).
_PATH: Final = re.compile(r"[^\[\]]+(?:\[[0-9]+\](?:\.[^\[\].]+)+|\[[^\[\]]*\])++")
_DOT_BEHIND_BRACKET: Final = "]."
_AS_PHP_READS: Final = str.maketrans(". ", "__")
_NAME_CHARACTERS_SHOWN: Final = 80


def refuse_bracket_names(names: Iterable[str], *, field: str) -> None:
    """``names``: of a query string or a form. ``field``: where they are, for the message.

    Raises AmbiguousRequestError.
    """
    distinct = dict.fromkeys(names)
    starts: dict[str, str] = {}
    for name in distinct:
        if name.startswith(" ") or "\0" in name:
            raise _ambiguous(field, name, "some servers drop a space at the start, or everything after a NUL")
        bracket = _BRACKET.search(name)
        if bracket is not None and _PATH.fullmatch(name) is None:
            raise _ambiguous(field, name, "servers read the brackets differently")
        start = name if bracket is None else name[: bracket.start()]
        other = starts.setdefault(start.translate(_AS_PHP_READS), start)
        if other != start:
            raise _ambiguous(field, start, f"PHP reads it and {_shown(other)} as one member")
    if any("[" in name for name in distinct):
        _refuse_nested(set(distinct), field)


def _refuse_nested(names: set[str], field: str) -> None:
    """Refuses a name that stands with and without brackets, and members of one item with a dot and with brackets."""
    dotted = {name for name in names if _DOT_BEHIND_BRACKET in name}
    items = {name[: name.index(_DOT_BEHIND_BRACKET) + 1] for name in dotted}
    for several in (names, (names - dotted) | items if dotted else ()):
        pair = _outer_and_inner(several)
        if pair is not None:
            raise _ambiguous(field, pair[0], f"the name occurs with and without brackets, as in {_shown(pair[1])}")


def _outer_and_inner(names: Iterable[str]) -> tuple[str, str] | None:
    """Two names of which one goes on where the other ends. In time that grows with the names' length only: sorted, the
    names that begin with a name follow it."""
    outer: list[str] = []
    for name in sorted(names):
        while outer and not name.startswith(outer[-1]):
            outer.pop()
        for one in outer:
            following = name[len(one)]
            if following == "[" or (following == "." and "[" in one):
                return one, name
        outer.append(name)
    return None


def _shown(name: str) -> str:
    return repr(name[:_NAME_CHARACTERS_SHOWN])


def _ambiguous(field: str, name: str, reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the {field} can be read in more than one way: the member {_shown(name)}: {reason}", details={"field": field}
    )
