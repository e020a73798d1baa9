"""Credentials as the published rules describe them (``config/detectors/gitleaks.yaml``), made at random from each
pattern, in the places where credentials stand."""

import random
import re
import string
from collections.abc import Iterator
from typing import Any

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.entropy import bits_per_character

_WORD = string.ascii_letters + string.digits
_REPEATED_MAX = 20
_BITS_MIN = 3.6
PLACES = (
    '{name}="{value}"', "export {NAME}={value}", '{{"{name}": "{value}"}}', "{name}: {value}", "{name} := `{value}`",
    'const {name}: string = "{value}";', "<{name}>{value}</{name}>", "2026-03-01 INFO start {name}={value} done",
    'System.setProperty("{NAME}", "{value}")', "--{name} {value}", "https://api.example.net/v1?{name}={value}&page=2",
)  # fmt: skip


def published(seed: int) -> Iterator[tuple[str, str, str]]:
    """(rule, name to which the value is assigned, value): a value for each rule."""
    document = read_document(resource_path("detectors", "gitleaks.yaml"))
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    formats, assigned = document.section("formats"), document.section("assigned")
    for kind in formats.members:
        section = formats.section(kind)
        if "near" not in section.members:  # counts where another word stands near
            yield kind, "value", _random_enough(section.text("pattern"), rng)
    for kind in assigned.members:
        section = assigned.section(kind)
        yield kind, f"{section.strings('keywords')[0]}_token", _random_enough(section.text("value"), rng)


def _random_enough(pattern: str, rng: random.Random) -> str:
    tries = [like(pattern, rng).strip() for _ in range(20)]
    fit = (one for one in tries if bits_per_character(one) >= _BITS_MIN and any(map(str.isdigit, one)))
    return next(fit, tries[0])


def like(pattern: str, rng: random.Random) -> str:
    """A text that the pattern (RE2's syntax) matches."""
    either_case = "(?i" in pattern
    pattern = re.sub(r"\(\?-?i:", "(?:", pattern.replace("(?i)", "").replace("[[:alnum:]]", "[a-z0-9]"))
    pattern = re.sub(r"\(\?:\[\^[^]]*\]\|(\$|\\z)\)$", "", pattern)  # what ends it
    return "".join(_made(re._parser.parse(pattern), rng, either_case))  # type: ignore[attr-defined]


def _made(parsed: Any, rng: random.Random, either_case: bool) -> Iterator[str]:
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            yield chr(argument)
        elif name == "IN":
            one = rng.choice([one for one in _members(argument) if one.isprintable()])
            yield one.upper() if either_case and rng.random() < 0.5 else one
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = argument
            for _ in range(rng.randint(least, min(most, least + _REPEATED_MAX))):
                yield from _made(inner, rng, either_case)
        elif name == "SUBPATTERN":
            yield from _made(argument[-1], rng, either_case)
        elif name == "BRANCH":
            yield from _made(rng.choice(argument[1]), rng, either_case)
        elif name == "ANY":
            yield rng.choice(_WORD)
        else:
            assert name == "AT", name


def _members(ranges: Any) -> Iterator[str]:
    kinds = {
        "CATEGORY_DIGIT": string.digits,
        "CATEGORY_WORD": _WORD + "_",
        "CATEGORY_SPACE": " ",
        "CATEGORY_NOT_SPACE": _WORD,
    }
    if str(ranges[0][0]) == "NEGATE":
        yield from _WORD
        return
    for operation, argument in ranges:
        if str(operation) == "LITERAL":
            yield chr(argument)
        elif str(operation) == "RANGE":
            yield from map(chr, range(argument[0], argument[1] + 1))
        else:
            yield from kinds[str(argument)]
