"""Recovery codes as people read and type them: twelve characters of Crockford's alphabet, in groups of four.

Sixty bits each, where 20 are demanded of a look-up secret (NIST SP 800-63B-4, section 3.1.2). The alphabet has no I, L,
O and U (https://www.crockford.com/base32.html), and what is read as one of those is taken for what it looks like.
"""

import secrets
from typing import Final

from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

CODES_EACH: Final = 10
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS: Final = 12
_GROUP: Final = 4
_LOOKS_LIKE: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})

CODE_BITS: Final = _CHARACTERS * 5


def new_codes(number: int = CODES_EACH) -> list[Secret]:
    """Different ones."""
    made: set[str] = set()
    while len(made) < number:
        made.add("".join(secrets.choice(_ALPHABET) for _ in range(_CHARACTERS)))
    return [Secret(one) for one in made]


def shown(code: Secret) -> str:
    """As it is written down."""
    text = code.reveal()
    return "-".join(text[at : at + _GROUP] for at in range(0, len(text), _GROUP))


def parse_code(text: str) -> Secret:
    """As it was typed. Raises ValidationError for what cannot be one, without repeating it."""
    plain = text.strip().upper().translate(_LOOKS_LIKE)
    if len(plain) != _CHARACTERS or not set(plain) <= set(_ALPHABET):
        raise ValidationError(
            "a recovery code has twelve letters and digits, for example 7KQ2-M4XW-9TBC",
            details={"field": "code", "reason": "not of a recovery code's form"},
        )
    return Secret(plain)
