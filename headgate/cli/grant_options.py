"""How a grant is said on a command line: conditions, a time, a number of uses, a sum."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import click

_CONDITION: Final = re.compile(r"(?P<param>[^=^~<>|]+?)(?P<sign>\^=|~=|<=|>=|=)(?P<value>.*)", re.DOTALL)
_MEMBERS: Final = {"=": "equals", "^=": "prefix", "~=": "matches", "<=": "at_most", ">=": "at_least"}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})([smhd]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def bounds_options(command: Any) -> Any:
    """The options that every grant has."""
    for option in (
        click.option("--sum", "sum_bound", help="PARAM<=NUMBER: limit for the sum over all uses."),
        click.option(
            "--where",
            "conditions",
            multiple=True,
            help="PARAM=VALUE, PARAM^=PREFIX, PARAM~=RE2, PARAM<=NUMBER or PARAM>=NUMBER. Repeatable: all must match.",
        ),
        click.option("--reason", required=True, help="Recorded in the audit log."),
        click.option("--for", "duration", required=True, help="Validity: 90s, 30m, 8h, 2d."),
        click.option("--uses", type=click.IntRange(1), required=True, help="Maximum number of calls."),
    ):
        command = option(command)
    return command


def bounds_body(uses: int, duration: str, reason: str, sum_bound: str | None) -> dict[str, object]:
    """Raises UsageError."""
    body: dict[str, object] = {"max_uses": uses, "expires_in_seconds": _seconds(duration), "reason": reason}
    if sum_bound is not None:
        param, sign, value = _split(sum_bound)
        if sign != "<=":
            raise click.UsageError("--sum must have the form PARAM<=NUMBER")
        body["sum"] = {"param": param, "at_most": _number(value)}
    return body


def conditions_body(conditions: Sequence[str]) -> list[dict[str, object]]:
    """Raises UsageError."""
    found: list[dict[str, object]] = []
    for text in conditions:
        param, sign, value = _split(text)
        given: object = value
        if sign == "=":
            given = _json_or_text(value)
        elif sign in ("<=", ">="):
            given = _number(value)
        found.append({"param": param, _MEMBERS[sign]: given})
    return found


def _split(text: str) -> tuple[str, str, str]:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise click.UsageError(f"{text!r} is not a condition. Write PARAM=VALUE, or use ^=, ~=, <= or >=.")
    return match["param"].strip(), match["sign"], match["value"]


def _json_or_text(value: str) -> object:
    """``3``, ``true`` and ``"3"`` are what JSON says; anything else is the text itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _number(value: str) -> int | float:
    number = _json_or_text(value)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise click.UsageError(f"{value!r} is not a number")
    return number


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise click.UsageError(f"{text!r} is not a duration. Write it as 90s, 30m, 8h or 2d.")
    return int(match[1]) * _SECONDS[match[2]]
