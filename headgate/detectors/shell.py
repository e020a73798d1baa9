"""A command as a POSIX shell runs it: quoting, escapes and simple expansions undone.

IEEE Std 1003.1-2024, "Shell Command Language", sections 2.2 (quoting) and 2.6 (word expansions), and what bash adds:
``$'…'``, braces. Enough to read what was written so that nobody finds it (MITRE ATT&CK T1027.010, command
obfuscation); nothing is run, and no file or variable of a machine is looked at.
"""

import re
from typing import Final

_CONTINUED: Final = re.compile(r"\\\r?\n")
_ANSI_QUOTED: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))")
_SEPARATOR: Final = re.compile(r"\$\{IFS[^}]*\}|\$IFS(?:\$[0-9@*!?])?", re.IGNORECASE)
_EMPTY: Final = re.compile(r"\$(?:[0-9@*!]|\{[0-9@*!]\})")
_DEFAULTED: Final = re.compile(r"\$\{[A-Za-z_]\w*:?[-=]([^{}]*)\}")
_ASSIGNED: Final = re.compile(r"(?:^|[;&|\s])([A-Za-z_]\w{0,31})=([^\s;&|]{0,64})(?=[;&|\s])")
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_BRACES: Final = re.compile(r"(?<![\w$])\{([^{}\s,]+(?:,[^{}\s,]*)+)\}")
_SUBSTITUTION: Final = re.compile(r"\$\(|`|<\(")
_PRINTED: Final = re.compile(r"\b(?:printf|echo\s+-[a-z]*e[a-z]*)\s+(?:--\s+)?['\"]((?:\\[x0-7][^'\"]*)+)['\"]")
_QUOTING: Final = re.compile(r"""['"]""")
_ESCAPED: Final = re.compile(r"\\(.)")
_CONTROL: Final = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def plain_command(text: str) -> str:
    """One command, read as a shell would; substitutions (``$(…)``) stay, and so does what it cannot undo. Time in
    proportion to the length."""
    plain = _CONTINUED.sub("", text)
    plain = _PRINTED.sub(lambda found: _unescaped(found[1]), plain)
    plain = _ANSI_QUOTED.sub(lambda found: _unescaped(found[1]), plain)
    plain = _EMPTY.sub("", _SEPARATOR.sub(" ", plain))
    plain = _DEFAULTED.sub(r"\1", plain)
    plain = _assigned(plain)
    plain = _BRACES.sub(lambda found: found[1].replace(",", " "), plain)
    return _ESCAPED.sub(r"\1", _QUOTING.sub("", plain))


def opened(command: str) -> str:
    """With what stands in substitutions as commands of their own."""
    return _SUBSTITUTION.sub(" ; ", command)


def _assigned(text: str) -> str:
    """``a=c;b=at;$a$b``: values that the command itself gives, once."""
    values = {found[1]: found[2].strip("'\"") for found in _ASSIGNED.finditer(text)}
    if not values:
        return text
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    by_hex, by_unicode, by_octal, other = found.groups()
    if by_octal is not None:
        return chr(int(by_octal, 8) & 0xFF)
    if by_hex or by_unicode:
        return chr(int(by_hex or by_unicode, 16))
    return _CONTROL.get(other, other)
