"""The lists of ``config/masking.yaml``, compiled: how a secret is known by its name or by its form.

RE2 throughout: linear in the text, whatever the text is.
"""

import re
from functools import cache
from typing import Final

import re2
from msgspec import Struct

from headgate.actions.markup_secrets import compile_markup, markup_in_json
from headgate.configuration.credentials import WORD_BOUNDARY, compile_credentials, credential_patterns
from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import MASK

_SEPARATOR: Final = "[_. -]?"
_NAME_SOURCE: Final = re.compile(r"[a-z0-9_]+")
# How forms write a member of a member: user[password], password[], and percent-encoded.
_BRACKETS: Final = r"(?:\]|\[[0-9]*\]|%5[BbDd])*"
# A text may be JSON, or code, in which a line break is a backslash and a letter.
_ASSIGNMENT_TAIL: Final = (
    "s?" + _BRACKETS + r"""\\*["']?(?:\s|\\+[tnrf])*[:=](?:\s|\\+[tnrf])*\\*["']?)([^\s"'&,;<>\\]{4,})"""
)


def _not_masked_yet() -> str:
    """What begins like the mask and is not it; RE2 has no negative look-ahead."""
    prefixes = [f"{re.escape(MASK[:length])}[^{re.escape(MASK[length])}]" for length in range(1, len(MASK))]
    return "|".join((*prefixes, re.escape(MASK) + r"""[^"'\\]"""))


# What follows a name that a value is assigned to, in canonical JSON and in texts inside it (where quotes are
# escaped once for each level). A value that is masked already, or empty, is no reason to look closer.
_GAP: Final = r"(?: |\\+[tnrf])*"
_ASSIGNED: Final = (
    "s?"
    + _BRACKETS
    + (
        r"""\\*["']?GAP[:=]GAP(?:\\*["'](?:[^\["]|NOT_MASKED)|\\+[^"'\\]|[^"'\\ \[]|NOT_MASKED)""".replace(
            "NOT_MASKED", _not_masked_yet()
        ).replace("GAP", _GAP)
    )
)


class MaskingRules(Struct, frozen=True):
    """``may_hold_secret`` runs on canonical JSON and never misses what the other patterns find in its values.

    ``assignment`` finds ``password=…`` in a text; its groups are the name with what follows it, and the value.
    ``markup`` finds ``<password>…</password>`` and such (``headgate.actions.markup_secrets``).
    """

    may_hold_secret: re2._Regexp
    secret_name: re2._Regexp
    harmless_name: re2._Regexp
    assignment: re2._Regexp
    markup: tuple[re2._Regexp, ...]
    credential: re2._Regexp

    def is_secret_name(self, name: str) -> bool:
        return self.secret_name.search(name) is not None and self.harmless_name.search(name) is None


@cache
def masking_rules() -> MaskingRules:
    """Read once in the life of a process. Raises ValidationError for a list that cannot be used."""
    return compile_rules(read_document(resource_path("masking.yaml")))


def compile_rules(document: Section) -> MaskingRules:
    """Raises ValidationError."""
    document.only("headers", "field_names", "whole_field_names", "harmless_field_names", "credentials")
    names = _names(document, "field_names")
    whole = _names(document, "whole_field_names")
    harmless = _names(document, "harmless_field_names")
    patterns = credential_patterns(document)
    # In canonical JSON a line feed is \\n, whose n would end a word boundary before a credential.
    loose = "|".join(f"(?:{pattern.replace(WORD_BOUNDARY, '')})" for pattern in patterns)
    try:
        return MaskingRules(
            may_hold_secret=_compile_bytes(
                f"(?i:(?:{names}|{whole}){_ASSIGNED}|{markup_in_json(f'{names}|{whole}')})|{loose}"
            ),
            secret_name=re2.compile(rf"(?i)(?:(?:{names})|(?:^|\[)(?:{whole}))s?{_BRACKETS}$"),
            harmless_name=re2.compile(f"(?i)(?:{harmless})s?{_BRACKETS}$"),
            markup=compile_markup(names, whole),
            assignment=re2.compile(f"(?i)([a-z0-9_.-]*(?:{names}|{whole}){_ASSIGNMENT_TAIL}"),
            credential=compile_credentials(patterns, document.where),
        )
    except re2.error as error:
        raise ValidationError(f"{document.where}: a pattern that RE2 does not accept: {error}") from error


def _names(document: Section, key: str) -> str:
    names = document.strings(key)
    for name in names:
        if _NAME_SOURCE.fullmatch(name) is None:
            raise document.fail(key, f"{name!r} must be in lower case, digits and underscores")
    if not names:
        raise document.fail(key, "at least one name is required")
    return "|".join(name.replace("_", _SEPARATOR) for name in names)


def _compile_bytes(pattern: str) -> re2._Regexp:
    """For canonical JSON as it is: bytes need no decoding, and what is not ASCII matters to no pattern."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    return re2.compile(pattern.encode("ascii"), options)
