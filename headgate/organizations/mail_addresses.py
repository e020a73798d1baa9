"""Recognizes e-mail addresses, and compares them: without regard to the case of ASCII letters, and of those only.

Mail is delivered without regard to case almost everywhere. Unicode's case mappings go further and make one address of
two: ``str.lower()`` and ``lower()`` of a database turn U+212A into k, ``str.casefold()`` turns ß into ss. A look-alike
address is another person's.
"""

import re
from string import ascii_lowercase, ascii_uppercase
from typing import Final

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)

# Without the "specials" of RFC 5322 (3.2.3): names, comments, quotes and lists of addresses have them.
_ONE: Final = re.compile(r"[^\s@<>()\[\]\\,;:\"]+@[^\s@<>()\[\]\\,;:\"]+")


def is_one_address(text: str) -> bool:
    """Whether the text is an address and nothing else: no name, list, quotes, white space or invisible characters."""
    return _ONE.fullmatch(text) is not None and text.isprintable()


def lower_ascii(name: str) -> str:
    """An address, or a user's id beside addresses, with its ASCII letters in lower case.

    In SQL: ``lower(email COLLATE "C")``, which changes the same letters whatever the database's locale is.
    """
    return name.translate(_LOWER)


def same_address(one: str, other: str) -> bool:
    """Whether both are one address; white space around an address is no part of it."""
    return lower_ascii(one.strip()) == lower_ascii(other.strip())
