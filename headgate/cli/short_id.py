"""Ids as people type them: whole, the beginning, the end, or as tables show them (``apr_01a2…bed3``)."""

import re
from collections.abc import Iterable
from typing import Final

from headgate.cli.tables import safe
from headgate.kernel.errors import NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix

_GAP: Final = re.compile("…|\\.\\.\\.")
_TYPED: Final = re.compile(r"(?:[a-z]{3}_)?[0-9a-f-]*(?:(?:…|\.\.\.)[0-9a-f-]*)?")
_FEWEST_CHARACTERS: Final = 4
_MOST_NAMED: Final = 10
_LABEL_CHARACTERS: Final = 60
_WHOLE: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_whole(prefix: IdPrefix, text: str) -> bool:
    """Whether the API takes it as it is."""
    return _WHOLE.fullmatch(text.removeprefix(f"{prefix}_")) is not None


def is_short(prefix: IdPrefix, text: str) -> bool:
    """Whether it can be a part of such an id."""
    given = text.removeprefix(f"{prefix}_")
    return _TYPED.fullmatch(text) is not None and len(_GAP.sub("", given)) >= _FEWEST_CHARACTERS


def matching(prefix: IdPrefix, text: str, ids: Iterable[str]) -> list[str]:
    """The ids that it can stand for."""
    beginning, *end = _GAP.split(text.removeprefix(f"{prefix}_"), maxsplit=1)

    def fits(one: str) -> bool:
        rest = one.removeprefix(f"{prefix}_")
        if end:
            return rest.startswith(beginning) and rest.endswith(end[0])
        return rest.startswith(beginning) or (not text.startswith(f"{prefix}_") and rest.endswith(beginning))

    return [one for one in ids if fits(one)]


def the_one(text: str, found: list[tuple[str, str]], *, what: str, listed_by: str) -> str:
    """Its id. ``found``: ids, and what tells them apart. Raises NotFoundError; ValidationError, which lists them."""
    if not found:
        raise NotFoundError(f"no {what} {safe(text)}. headgate {listed_by} lists them")
    if len(found) > 1:
        lines = "\n".join(
            f"  {safe(one)}  {safe(label)[:_LABEL_CHARACTERS]}".rstrip() for one, label in found[:_MOST_NAMED]
        )
        more = f"\n  and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise ValidationError(f"{safe(text)} matches {len(found)} {what}s. Enter more characters:\n{lines}{more}")
    return found[0][0]
