"""How a credential is known by its form: the ``credentials`` of ``config/masking.yaml``, for the record and for logs.

RE2 throughout: linear in the text, whatever the text is.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import re2

from headgate.configuration.resources import resource_path
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import MASK

if TYPE_CHECKING:
    from headgate.configuration.yaml_document import Section

WORD_BOUNDARY: Final = r"\b"
# An escape ends in a letter or digit, which would hide the start of a word: \\n in a text that is itself JSON, \\x3d
# where bytes are shown, %3D in a URL. It is kept.
_WORD_START: Final = r"(?:\b|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2})"
_ESCAPE: Final = re.compile(r"\\(?:[bfnrt]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}")
_URL_START: Final = "://"


def credential_patterns(document: "Section") -> list[str]:
    """The patterns as they are written. Raises ValidationError."""
    credentials = document.section("credentials")
    return [credentials.text(name) for name in credentials.members]


def compile_credentials(patterns: list[str], where: str) -> re2._Regexp:
    """One expression that finds each of them; ``masked_credential`` says what stands in its place.

    Raises ValidationError for a pattern that RE2 does not accept.
    """
    try:
        return re2.compile("|".join(f"(?:{_from_word_start(pattern)})" for pattern in patterns))
    except re2.error as error:
        raise ValidationError(f"{where}: a pattern that RE2 does not accept: {error}") from error


@cache
def known_credentials() -> re2._Regexp:
    """Read once in the life of a process. Raises ValidationError for a list that cannot be used."""
    from headgate.configuration.yaml_document import read_document  # noqa: PLC0415 - `headgate up` masks no line soon

    document = read_document(resource_path("masking.yaml"))
    return compile_credentials(credential_patterns(document), document.where)


def masked_credential(match: re2._Match) -> str:
    """What stands for a credential that was found: the escape before it, and what a URL needs around it, stay."""
    found = str(match.group(0))
    escape = _ESCAPE.match(found)
    kept = "" if escape is None else escape[0]
    return f"://{MASK}@" if found[len(kept) :].startswith(_URL_START) else kept + MASK


def _from_word_start(pattern: str) -> str:
    return pattern.replace(WORD_BOUNDARY, _WORD_START, 1) if WORD_BOUNDARY in pattern[:6] else pattern
