"""Reads the settings file that HEADGATE_SETTINGS_FILE names: TOML, ``api_port = 8480`` for HEADGATE_API_PORT=8480.

Headgate searches no folder for it: an agent may have written the file in the current folder. Other users must not be
able to change it or, if it has a secret, to read it.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from headgate.configuration.variables import Variable
from headgate.kernel.errors import ValidationError
from headgate.kernel.secret_file import require_secret, require_unchanged

SETTINGS_FILE: Final = "HEADGATE_SETTINGS_FILE"
_PREFIX: Final = "HEADGATE_"


def read_settings_file(path: Path, known: Mapping[str, Variable]) -> tuple[dict[str, str], list[ValidationError]]:
    """Returns the texts of the variables that the file sets, and all of its errors with their lines. ``known``: the
    settings by variable."""
    try:
        require_unchanged(path)
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
        if any(known[name].is_secret for name in map(_variable_of, document) if name in known):
            require_secret(path)
    except (OSError, ValueError) as error:
        return {}, [_unusable(path, error)]
    values: dict[str, str] = {}
    problems: list[ValidationError] = []
    for key, value in document.items():
        place = f"{path}, line {_line_of(text, key)}: {key}"
        try:
            values[_variable_of(key)] = _checked(key, value, place, known)
        except ValidationError as error:
            problems.append(error)
    return values, problems


def _variable_of(key: str) -> str:
    return f"{_PREFIX}{key.upper()}" if key == key.lower() else ""


def _checked(key: str, value: Any, place: str, known: Mapping[str, Variable]) -> str:
    row = known.get(_variable_of(key))
    if row is None:
        near = difflib.get_close_matches(key, [one.removeprefix(_PREFIX).lower() for one in known], n=1)
        meant = f" Did you mean {near[0]}?" if near else " docs/reference/settings.md lists all."
        raise ValidationError(f"{place} is not a setting.{meant}", details={"variable": key, "reason": "unknown"})
    try:
        text = _text_of(value)
    except TypeError as error:
        raise ValidationError(f"{place}: {error}", details={"variable": row.name, "reason": str(error)}) from error
    row.value(text, place)
    return text


def _text_of(value: Any) -> str:
    """The value as an environment variable would hold it. Raises TypeError."""
    match value:
        case bool():
            return "on" if value else "off"
        case str() | int():
            return str(value)
        case list():
            return ",".join(_texts_of(value))
    raise TypeError("give a text, a whole number, true, false, or a list of texts")


def _texts_of(values: list[Any]) -> Iterator[str]:
    for one in values:
        if not isinstance(one, str) or "," in one:
            raise TypeError("each entry of a list is a text without commas")
        yield one


def _line_of(text: str, key: str) -> int:
    found = re.search(
        rf"""^[ \t]*["']?{re.escape(key)}["']?[ \t]*[=.]|^[ \t]*\[+[ \t]*{re.escape(key)}\b""", text, re.M
    )
    return text.count("\n", 0, 0 if found is None else found.start()) + 1


def _unusable(path: Path, error: OSError | ValueError) -> ValidationError:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, UnicodeDecodeError):
        said = "it is not UTF-8 text"
    message = f'the environment variable {SETTINGS_FILE} is "{path}": the file cannot be used: {said}'
    return ValidationError(message, details={"variable": SETTINGS_FILE, "reason": said})
