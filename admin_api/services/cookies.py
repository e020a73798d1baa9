"""The cookies of browsers: the session's, and those that tie a login's or a logout's end to the browser that began it.

Where the API is reached by https their names begin with ``__Host-``, which no other host and no plain http can set
(RFC 6265bis, section 4.1.3.2). Plain http is for loopback only, where browsers take no Secure cookie everywhere.
Lax, as a provider sends the browser back from its own site; what changes anything needs more (``require_own_page``).
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.requests import Request

from admin_api.own_form import require_own_form
from headgate.kernel.errors import UnauthorizedError
from headgate.kernel.secrets import Secret

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_LOGIN_SECONDS: Final = 600
_SPACE: Final = " \t"
"""All that a browser takes off a name. Behind another space it is another name, and kept from no other host."""
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Cookies(Struct, frozen=True):
    """As this API's address has them. ``is_secure``: it is reached by https."""

    is_secure: bool

    @property
    def session(self) -> str:
        return "__Host-headgate_session" if self.is_secure else "headgate_session"

    @property
    def login(self) -> str:
        return "__Host-headgate_login" if self.is_secure else "headgate_login"

    @property
    def logout(self) -> str:
        return "__Host-headgate_logout" if self.is_secure else "headgate_logout"

    def set_session(self, secret: Secret, seconds: int) -> tuple[str, str]:
        return self._set(self.session, secret.reveal(), seconds)

    def set_login(self, secret: Secret) -> tuple[str, str]:
        return self._set(self.login, secret.reveal(), _LOGIN_SECONDS)

    def set_logout(self, state: Secret) -> tuple[str, str]:
        return self._set(self.logout, state.reveal(), _LOGIN_SECONDS)

    def clear(self, name: str) -> tuple[str, str]:
        return self._set(name, "", 0)

    def _set(self, name: str, value: str, seconds: int) -> tuple[str, str]:
        secure = "; Secure" if self.is_secure else ""
        return "set-cookie", f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def cookies_of(public_url: str | None) -> Cookies | None:
    """None: at this address nobody signs in with a browser, as a cookie would travel in plain text."""
    if public_url is None:
        return None
    parts = urlsplit(public_url)
    if parts.scheme == "https":
        return Cookies(is_secure=True)
    return Cookies(is_secure=False) if parts.hostname in _LOOPBACK else None


def cookie_of(headers: Iterable[tuple[bytes, bytes]], name: str) -> Secret | None:
    """The one cookie of this name. Raises UnauthorizedError for several: one of them is somebody else's."""
    found = [
        value
        for header, text in headers
        if header == b"cookie"
        for pair in text.decode("latin-1").split(";")
        for key, separator, value in [pair.strip(_SPACE).partition("=")]
        if separator and key == name
    ]
    if len(found) > 1:
        raise UnauthorizedError(f"the cookie {name} is sent {len(found)} times")
    return Secret(found[0]) if found and found[0] else None


def require_own_page(request: Request) -> None:
    """Whoever changes something with nothing but a cookie does it from a page of ours (Sec-Fetch-Site, or Origin):
    a browser sends the cookie with another site's form, too. Raises ForbiddenError."""
    if request.method not in _SAFE_METHODS:
        require_own_form(request)
