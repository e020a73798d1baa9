"""Secrets in XML and HTML: where markup puts a secret's name beside its value.

Each pattern has the groups ``before``, ``name``, ``value`` and, where something follows, ``after``. RE2, as all of
``config/masking.yaml``: linear in the text.
"""

import re2

from headgate.kernel.secrets import MASK

_QUOTED = r"""(?P<value>"[^"<>]+"|'[^'<>]+')"""
_NAMING = r"""\s(?:[\w.-]+:)?(?:name|key|id)\s*=\s*["'](?P<name>[^"'<>]*?NAME)["']"""
_CONTENT = r"(?P<value><!\[CDATA\[(?s:.*?)(?:\]\]>|$)|[^<\s][^<]*)"
_VALUE_ATTRIBUTE = r"\svalue\s*=\s*"
_INNER_TAG = r"\s*(?:<[^<>/!?][^<>]*>\s*)?"

_PATTERNS = (
    # <db:password type="x">hunter2</db:password>, <credential><value>hunter2</value></credential>
    rf"(?P<before><(?:[\w.-]+:)?(?P<name>[\w.-]*?NAME)(?:\s[^<>]*)?>{_INNER_TAG}){_CONTENT}",
    # <add key="password" value="hunter2"/>
    rf"(?P<before><[^<>]*{_NAMING}[^<>]*{_VALUE_ATTRIBUTE}){_QUOTED}",
    # <input value="hunter2" name="password">
    rf"(?P<before><[^<>]*{_VALUE_ATTRIBUTE}){_QUOTED}(?P<after>[^<>]*{_NAMING})",
    # <parameter name="password">hunter2</parameter>
    rf"(?P<before><[^<>]*{_NAMING}[^<>]*>{_INNER_TAG}){_CONTENT}",
    # XML-RPC and property lists: <name>password</name><value><string>hunter2</string></value>
    rf"(?P<before><(?:[\w.-]+:)?(?:name|key|id)>\s*(?P<name>[^<>]*?NAME)\s*</[^<>]*>\s*<[^<>/!?][^<>]*>{_INNER_TAG})"
    rf"{_CONTENT}",
)

_IN_CANONICAL_JSON = r"""<[^<>]*NAME(?:[\\"' ][^<>]*)?/?>|NAME(?:\\[nrt]| )*</"""


def markup_in_json(names: str) -> str:
    """For canonical JSON, in which quotes and line breaks are escaped; it finds what each pattern needs."""
    return _IN_CANONICAL_JSON.replace("NAME", f"(?:{names})s?")


def compile_markup(names: str, whole_names: str) -> tuple[re2._Regexp, ...]:
    """``names``: how a secret's name ends; ``whole_names``: what it is as a whole. Raises re2.error."""
    either = rf"(?:(?:{names})s?|\b(?:{whole_names})s?)"
    return tuple(re2.compile("(?i)" + pattern.replace("NAME", either)) for pattern in _PATTERNS)


def masked_markup(match: re2._Match) -> str:
    """What stands for the match; quotes stay."""
    groups = match.groupdict()
    value = groups["value"]
    quote = value[0] if value[0] in "\"'" and value[0] == value[-1] and len(value) > 1 else ""
    return f"{groups['before']}{quote}{MASK}{quote}{groups.get('after') or ''}"
