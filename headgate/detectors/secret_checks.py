"""What tells a credential from a text that only looks like one: checksums, structure, entropy, stop-lists."""

import base64
import binascii
import itertools
import json
import re
import string
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from headgate.detectors.entropy import bits_per_character

CERTAIN: Final = 0.99
LIKELY: Final = 0.9
DOUBTFUL: Final = 0.6
NO: Final = 0.0

_BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECKSUM_LENGTH: Final = 6
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CODE: Final = re.compile(r"[A-Za-z_$]+(?:(?:\.|::|->)[A-Za-z_$]+)+[;,)]*")
_SUBSCRIPT: Final = re.compile(r"[A-Za-z_.]+\[")
_RESOURCE_NAME: Final = re.compile(
    r"arn:aws[a-z-]{0,12}:(?:secretsmanager|ssm|kms|iam|sts|acm|apigateway|cognito-idp|cognito-identity|execute-api):\S+"
    r"|projects/[\w-]+/secrets/[\w-]+(?:/versions/\w+)?"
)
"""It names a secret, a key or a role, and is none."""
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]+")
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[_.\-/:][A-Za-z]+)*")
_BASE64_OR_URL_SAFE: Final = re.compile(r"[A-Za-z0-9+/_.~-]+={0,2}")
_NAME_AND_NUMBERS: Final = re.compile(r"[A-Za-z]{0,12}[0-9]{0,10}(?:[-_.:][A-Za-z]{0,12}[0-9]{0,10})+")
_FILE: Final = re.compile(r".+\.[a-z][a-z0-9]{1,3}")
_CALL: Final = re.compile(r"[A-Za-z_$][\w.]*\(")
_SERVICE_BITS_MIN: Final = 2.5
_QUOTES: Final = "\"'`"
_CLOSING: Final = ".,;)]" + _QUOTES
"""What ends a sentence, a bracket or a piece of code, in any order: `` `existingSecret: pg-auth`) ``."""
_DATE_OR_VERSION: Final = re.compile(r"v?[0-9]+(?:[.:\-/T][0-9]+)*Z?")


class Placeholders(Struct, frozen=True):
    """What stands where a secret would: as the whole value, or as a part of it, in lower case."""

    whole: frozenset[str]
    parts: tuple[str, ...]

    def hold(self, value: str) -> bool:
        lowered = value.lower()
        return lowered in self.whole or any(part in lowered for part in self.parts)


type Check = Callable[[str, Placeholders], float]
"""The confidence that this is a credential; ``NO``: it is none."""


def crc32_base62(value: str, placeholders: Placeholders) -> float:
    """The last six characters are the CRC-32 of those between prefix and them ("Behind GitHub's new
    authentication token formats", 2021; npm and our own keys do the same). A wrong one is a typing error, a
    made-up example, or a form of tomorrow: doubtful, not impossible.
    """
    body = value[value.index("_") + 1 :]
    number = zlib.crc32(body[:-_CHECKSUM_LENGTH].encode())
    expected = ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, 62)
        expected = _BASE62[digit] + expected
    if body.endswith(expected):
        return CERTAIN
    return NO if placeholders.hold(value) else DOUBTFUL


def json_web_token(value: str, placeholders: Placeholders) -> float:
    """RFC 7519: the header is JSON and names an algorithm."""
    try:
        header = json.loads(_unpadded(value.split(".", 1)[0]))
    except ValueError:
        return NO
    return CERTAIN if isinstance(header, dict) and "alg" in header else NO


def basic_pair(value: str, placeholders: Placeholders) -> float:
    """RFC 7617: user and password with a colon between, in base64."""
    try:
        user, colon, password = _unpadded(value).decode().partition(":")
    except ValueError:
        return NO
    if not colon or not user.isprintable() or len(password) < 4 or placeholders.hold(password):
        return NO
    return LIKELY


def chosen_password(value: str, placeholders: Placeholders) -> float:
    """What a person would choose, and no placeholder, variable or piece of code."""
    value = value.lstrip(_QUOTES).rstrip(_CLOSING)
    if len(value) < 5 or value[0] in "$<{[(@&" or (value[0] == value[-1] == "%") or placeholders.hold(value):
        return NO
    if _CODE.fullmatch(value) is not None or _DATE_OR_VERSION.fullmatch(value) is not None:
        return NO
    if _CALL.match(value) is not None:
        return NO
    if _SUBSCRIPT.match(value) is not None or (_WORDS.fullmatch(value) is not None and not _is_mixed(value, 0.4)):
        return NO
    if " " in value and _character_classes(value) < 4:
        return NO
    if _character_classes(value) < 2 or bits_per_character(value) < 2.3:
        return NO
    return LIKELY if len(value) >= 8 and _character_classes(value) >= 3 else 0.75


def mixed_password(value: str, placeholders: Placeholders) -> float:
    """For names and places that other things have too: eight characters with capital and small letters and digits, and
    no name of a file (``ops@host.example:Report-2026.pdf``)."""
    kinds = str.isupper, str.islower, str.isdigit
    if len(value) < 8 or _FILE.fullmatch(value) is not None or not all(any(map(kind, value)) for kind in kinds):
        return NO
    return chosen_password(value, placeholders)


def opaque_token(value: str, placeholders: Placeholders) -> float:
    """What a machine chose: long, of letters and digits, random; no identifier that is shown everywhere."""
    value = value.rstrip(".,;)")
    if len(value) < 16 or value[0] in "$<{[(@&" or placeholders.hold(value) or "(" in value:
        return NO
    if _UUID.fullmatch(value) is not None or _CODE.fullmatch(value) is not None:
        return NO
    if _RESOURCE_NAME.fullmatch(value) is not None:
        return NO
    if _HEXADECIMAL.fullmatch(value) is not None:
        return 0.85 if len(value) >= 32 and bits_per_character(value) >= 3.0 and not value.isdigit() else NO
    if not any(one.isdigit() for one in value) or not any(one.isalpha() for one in value):
        return NO
    if _NAME_AND_NUMBERS.fullmatch(value) is not None:
        return NO
    return 0.85 if bits_per_character(value) >= 3.3 and _is_mixed(value) else NO


def unmistakable_token(value: str, placeholders: Placeholders) -> float:
    """For names that many things have (``key``, ``auth``): no hash, no identifier in words, no path."""
    value = value.rstrip(".,;)")
    if len(value) < 20 or _HEXADECIMAL.fullmatch(value) is not None or not _BASE64_OR_URL_SAFE.fullmatch(value):
        return NO
    if _character_classes(value) < 3 or bits_per_character(value) < 3.9 or not _is_mixed(value, 0.35):
        return NO
    return opaque_token(value, placeholders)


def is_credential_of_service(value: str, bits: float) -> bool:
    """Of the right form; random enough, and no word."""
    if not any(one.isdigit() for one in value):
        return False
    return bits_per_character(value) >= max(bits, _SERVICE_BITS_MIN)


def is_in_words(value: str) -> bool:
    """Whether a text without digits is written as a name is, and not as letters at random."""
    return not any(one.isdigit() for one in value) and not _is_mixed(value, 0.3)


def header_value(value: str, placeholders: Placeholders) -> float:
    """What follows ``Authorization:`` or ``X-Api-Key:``. No check of its own where a scheme has one."""
    if (
        len(value) < 10
        or placeholders.hold(value)
        or (_WORDS.fullmatch(value) is not None and not _is_mixed(value, 0.4))
    ):
        return NO
    if _CODE.fullmatch(value) is not None or _DATE_OR_VERSION.fullmatch(value) is not None:
        return NO
    return LIKELY if bits_per_character(value) >= 2.75 and _character_classes(value) >= 2 else NO


def login_password(value: str, placeholders: Placeholders) -> float:
    """What follows the user's name on a command line; short ones are passwords there too."""
    value = value.strip("\"'")
    if (
        len(value) < 4
        or value[0] in "$<{[*%"
        or value[-1] == ">"
        or placeholders.hold(value)
        or (value.isdigit() and len(value) < 6)
    ):
        return NO
    return LIKELY if bits_per_character(value) >= 1.9 else NO


def kubernetes_value(value: str, placeholders: Placeholders) -> float:
    """A member of a Secret's ``data``: base64, of something."""
    try:
        return NO if placeholders.hold(_unpadded(value.rstrip("=")).decode("utf-8", "replace")) else LIKELY
    except ValueError:
        return NO


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__: check for check in (
        crc32_base62, json_web_token, basic_pair, chosen_password, opaque_token, header_value, login_password,
        kubernetes_value, mixed_password,
    )
}  # fmt: skip


def _unpadded(text: str) -> bytes:
    """Raises ValueError."""
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _character_classes(value: str) -> int:
    return (
        any(one.islower() for one in value)
        + any(one.isupper() for one in value)
        + any(one.isdigit() for one in value)
        + any(not one.isalnum() for one in value)
    )


def _is_mixed(value: str, share: float = 0.25) -> bool:
    """Whether the kind of character changes as often as it does at random, and not once a word."""
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" if one.islower() else "o" for one in value]
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    return changes >= len(value) * share
