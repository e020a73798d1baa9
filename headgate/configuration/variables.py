"""How one environment variable becomes a value: its text, its checks, and what an error says.

Every error names the variable, its value (unless it is a secret) and what to do about it.
"""

import re
from collections.abc import Callable
from dataclasses import field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.kernel.secret_file import require_secret
from headgate.kernel.secrets import Secret

_SWITCH = {"on": True, "off": False}
_FACTORS = {"": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_SIZE = re.compile(r"(\d+)\s*(KiB|MiB|GiB)?")

_QUOTA = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


class Variable(Struct, frozen=True):
    """One row of the table of settings. ``default`` is text, as it would be set; None: unset."""

    name: str
    default: str | None
    meaning: str
    parse: Callable[[str], object]
    is_secret: bool = False

    def value(self, text: str | None, place: str | None = None) -> object:
        """The value of this text, or of the default; None where neither is there. ``place``: where the text stands,
        if not in the environment. Raises ValidationError."""
        given = text if text else self.default
        if given is None:
            return None
        try:
            return self.parse(given)
        except ValueError as error:
            shown = "(its value is secret)" if self.is_secret else f'"{given[:200]}"'
            raise ValidationError(
                f"{place or f'the environment variable {self.name}'} is {shown}: {error}",
                details={"variable": self.name, "reason": str(error)},
            ) from error


def variable(
    name: str, default: str | None, meaning: str, parse: Callable[[str], object], *, secret: bool = False
) -> Any:
    """A field of Settings that is read from this variable."""
    return field(metadata={"variable": Variable(name, default, meaning, parse, secret)})


def text(given: str) -> str:
    return given


def secret_text(given: str) -> Secret:
    return Secret(given)


def secret_in_file(name: str, given: str) -> str:
    """The secret in the file that this variable names, without the line's end. Raises ValidationError."""
    file = path(given)
    try:
        require_secret(file)
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        said = str(error) if isinstance(error, PermissionError) and error.errno is None else _why_unreadable(error)
        raise ValidationError(
            f'the environment variable {name} is "{given[:200]}": {said}', details={"variable": name, "reason": said}
        ) from error


def _why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
    return f"the file cannot be read ({reason})"


def path(given: str) -> Path:
    return Path(given).expanduser()


def paths(given: str) -> tuple[Path, ...]:
    return tuple(path(one.strip()) for one in given.split(",") if one.strip())


def existing_file(given: str) -> Path:
    found = path(given)
    if not found.is_file():
        raise ValueError("no such file; give its path, or unset the variable")
    return found


def port(given: str) -> int:
    number = _whole(given, "a port")
    if number > 65535:
        raise ValueError("a port is a number from 0 to 65535 (0: any that is free)")
    return number


def positive(given: str) -> int:
    number = _whole(given, "a whole number")
    if number < 1:
        raise ValueError("it must be at least 1")
    return number


def seconds_up_to(most: int) -> Callable[[str], int]:
    def parse(given: str) -> int:
        number = _whole(given, "a number of seconds")
        if number > most:
            raise ValueError(f"it must be at most {most}")
        return number

    return parse


def size_bytes(given: str) -> int:
    match = _SIZE.fullmatch(given.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError("a size is a number of bytes, or a number with KiB, MiB or GiB, as in 10MiB")
    return int(match[1]) * _FACTORS[match[2] or ""]


class RequestQuota(Struct, frozen=True):
    """``count`` requests in ``seconds``."""

    count: int
    seconds: int


def request_quota(given: str) -> RequestQuota:
    match = _QUOTA.fullmatch(given.strip())
    if match is None:
        raise ValueError("a quota is a number of requests, a slash and a number of seconds, as in 100/60")
    count, seconds = int(match[1]), int(match[2])
    if not (1 <= count <= 100_000 and 1 <= seconds <= 86_400):
        raise ValueError("at least 1 and at most 100000 requests, in 1 to 86400 seconds")
    return RequestQuota(count, seconds)


def switch(given: str) -> bool:
    try:
        return _SWITCH[given.lower()]
    except KeyError:
        raise ValueError("set it to on or off") from None


def one_of(*allowed: str) -> Callable[[str], str]:
    def parse(given: str) -> str:
        if given not in allowed:
            raise ValueError(f"set it to one of {', '.join(allowed)}")
        return given

    return parse


def host_and_port(given: str) -> tuple[str, int]:
    """``host:port``; an IPv6 address in brackets."""
    parts = urlsplit(f"//{given}")
    try:
        number = parts.port
    except ValueError:
        number = None
    if not parts.hostname or number is None or parts.netloc != given or "@" in given:
        raise ValueError("give a host and a port, as in 0.0.0.0:9470 or [::]:9470")
    return parts.hostname, number


def http_url(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("give an address that begins with http:// or https:// and names a host")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("an address without user, query and fragment is needed")
    return given.rstrip("/")


def proxy_address(given: str) -> Secret:
    """The address of a proxy, with or without user and password."""
    try:
        parts = urlsplit(given)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its text may hold the password
        is_usable = False
    if not is_usable:
        raise ValueError("give an address of the form http://user:password@host:port, or https://…")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError("a proxy's address ends with its port; in user and password, percent-encode / ? # and @")
    return Secret(given)


def postgres_address(given: str) -> Secret:
    if not given.startswith(("postgresql://", "postgres://")):
        raise ValueError("give an address of the form postgresql://user:password@host:port/database")
    return Secret(given)


def redis_address(given: str) -> Secret:
    if not given.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("give an address of the form redis://host:port/0, rediss://… or unix:///path/of/socket")
    return Secret(given)


def networks(given: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(one) for one in re.split(r"[\s,]+", given.strip()))
    except ValueError as error:
        raise ValueError(f"addresses or networks, separated by commas, as in 10.0.0.0/8,fd00::1 ({error})") from None


def _whole(given: str, what: str) -> int:
    if not (given.isascii() and given.isdigit()) or len(given) > 18:
        raise ValueError(f"{what} is needed: digits only")
    return int(given)
