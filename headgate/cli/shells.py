"""Environment variables in the words of each shell. Values are data: nothing in them is expanded or run."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from headgate.kernel.errors import ValidationError


def sh(name: str, value: str) -> str:
    """POSIX shells: in single quotes nothing is special but the quote itself (POSIX.1, XCU 2.2.2)."""
    quoted = value.replace("'", "'\\''")
    return f"export {name}='{quoted}'"


def fish(name: str, value: str) -> str:
    """fish: in single quotes only the quote and the backslash can be escaped."""
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}'"


def powershell(name: str, value: str) -> str:
    """PowerShell: a quote is doubled, and so are the typographic ones, which it takes for quotes too
    (about_Quoting_Rules)."""
    quoted = "".join(character * 2 if character in "'‘’‚‛" else character for character in value)  # noqa: RUF001
    return f"$env:{name} = '{quoted}'"


def dotenv(name: str, value: str) -> str:
    """.env files: single quotes are taken literally by every reader, and have no escape; a value with one is put
    into double quotes, with what is special there escaped."""
    if "'" not in value:
        return f"{name}='{value}'"
    quoted = "".join("\\" + character if character in '"\\$`' else character for character in value)
    return f'{name}="{quoted}"'


FORMATS: Final[Mapping[str, Callable[[str, str], str]]] = MappingProxyType(
    {"sh": sh, "fish": fish, "powershell": powershell, "dotenv": dotenv}
)


FAILED: Final[Mapping[str, str]] = MappingProxyType(
    {"sh": "false\n", "fish": "false\n", "powershell": "throw 'headgate env failed'\n", "dotenv": ""}
)
"""What a shell runs in place of the variables if there are none: ``eval`` of nothing succeeds, and the calls of what
comes next would go around the gate."""


def render(variables: Mapping[str, str], form: str) -> str:
    """One line a variable. Raises ValidationError (``require_printable``)."""
    require_printable(variables)
    return "".join(f"{FORMATS[form](name, value)}\n" for name, value in variables.items())


def require_printable(variables: Mapping[str, str]) -> None:
    """Raises ValidationError for a value with a line break, which not every form can hold."""
    for name, value in variables.items():
        if not value.isprintable():
            raise ValidationError(f"{name} cannot be written: its value contains a control character")
