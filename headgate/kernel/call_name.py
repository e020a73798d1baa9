"""Names of tools and operations, as the specification writes them: ``^[a-z][a-z0-9_]*$``, 1 to 64 long."""

import re
from collections.abc import Iterable
from typing import Final

NAME_LENGTH_MAX: Final = 64
NAME_RULE: Final = (
    f"a name has lower-case letters, digits and _, begins with a letter, and has at most {NAME_LENGTH_MAX} characters"
)
_FITS: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def fits(name: str) -> bool:
    return _FITS.fullmatch(name) is not None


def first_unfit(names: Iterable[str]) -> int | None:
    """The number of the first that no call can have."""
    return next((number for number, one in enumerate(names) if not fits(one)), None)
