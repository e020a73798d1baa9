"""Which cookie is ours: read as a browser means it."""

import pytest

from admin_api.services.cookies import Cookies, cookie_of
from headgate.kernel.errors import UnauthorizedError

_NAME = Cookies(is_secure=True).session


def _read(*headers: bytes) -> str | None:
    found = cookie_of([(b"cookie", one) for one in headers], _NAME)
    return None if found is None else found.reveal()


def test_the_one_of_this_name() -> None:
    name = _NAME.encode()
    assert _read(b"a=b; " + name + b"=secret; c=d") == "secret"
    assert _read(b"a=b", name + b"=secret") == "secret"
    assert _read(name + b"=") is None
    with pytest.raises(UnauthorizedError):
        _read(name + b"=one; " + name + b"=two")


@pytest.mark.parametrize("before", [b"\xa0", b"\x85", b"\x0b", b"\x0c", b"\x1c", b"\x1f", b"\xc2\xa0"])
def test_another_name_that_only_looks_like_it(before: bytes) -> None:
    """A browser keeps the prefix ``__Host-`` from other hosts by the name's bytes: what is not a space to it (RFC 6265,
    section 5.2) makes another name, which any host of the domain may set."""
    name = _NAME.encode()
    assert _read(before + name + b"=planted") is None
    assert _read(name + before + b"=planted") is None
    assert _read(name + b"=own; " + before + name + b"=planted") == "own"
