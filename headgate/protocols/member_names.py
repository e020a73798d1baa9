"""Refuses members in a spelling that some servers take for another name.

Go's ``encoding/json``, .NET and others match members without regard to case. If an object has ``name`` and ``Name``,
the last one counts, so such a server acts on another member than the one that the policy read.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError

type Spellings = Mapping[str, str]
"""The documented names of members, by their folded form."""

_NAME_CHARACTERS_SHOWN: Final = 80
_KEPT_SPELLINGS: Final = 4_096
# Turkish: the upper case of i and the lower case of I.
_DOTTED_AND_DOTLESS: Final = {0x130: "i", 0x131: "i"}


@lru_cache(_KEPT_SPELLINGS)
def spellings(*names: str) -> Spellings:
    """``names``: of the members that decide what an object means, as its documentation spells them. Kept: an entry of a
    catalogue asks for its own with each call."""
    return MappingProxyType({folded(name): name for name in names})


def folded(name: str) -> str:
    """The form that all spellings of a name share. Unicode's case folding takes U+017F for s and U+212A for k, as Go
    does."""
    return name.lower() if name.isascii() else name.translate(_DOTTED_AND_DOTLESS).casefold()


def all_folded(names: Collection[str]) -> set[str]:
    """``folded`` of each. Most calls have no name outside ASCII, and each name by itself takes ten times as long."""
    return set(map(str.lower, names)) if "".join(names).isascii() else set(map(folded, names))


def any_has(names: Iterable[str], word: str) -> bool:
    """Whether one of ``names`` may have ``word`` in any spelling. ``word``: ASCII letters other than s, k and i. False
    is certain. Asked of all at once: an object may have a hundred thousand members, and few have such a word."""
    return word in "".join(names).lower()


def refuse_other_spellings(holder: JsonValue, names: Spellings, *, within: str) -> None:
    """Does nothing if ``holder`` is no object. ``within``: the document, for the message.

    Raises AmbiguousRequestError: a member is one of ``names`` but for upper and lower case.
    """
    for name in holder if isinstance(holder, dict) else ():
        if names.get(name) == name:
            continue  # nearly all members: folding is slower
        exact = names.get(folded(name))
        if exact is not None and exact != name:
            raise _ambiguous(within, f"some servers take the member {name[:_NAME_CHARACTERS_SHOWN]} for {exact}")


def refuse_names_alike(holder: JsonObject, *, within: str) -> None:
    """Raises AmbiguousRequestError: two members differ only in upper and lower case."""
    found = first_alike(holder)
    if found is not None:
        raise _ambiguous(
            within,
            f"some servers take the members {found[0][:_NAME_CHARACTERS_SHOWN]} and {found[1][:_NAME_CHARACTERS_SHOWN]}"
            " for one",
        )


def first_alike(names: Collection[str]) -> tuple[str, str] | None:
    """Two of ``names``, all different, that differ only in upper and lower case."""
    # Looked for first: an object may have a hundred thousand members.
    if "".join(names).isascii() and len(set(map(str.lower, names))) == len(names):
        return None
    seen: dict[str, str] = {}
    for name in names:
        present = seen.setdefault(folded(name), name)
        if present != name:
            return present, name
    return None


def _ambiguous(within: str, reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(f"the {within} can be read in more than one way: {reason}", details={"field": "body"})
