"""What a provider calls somebody is one part of an address, to which the administrator's credential is sent."""

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.mfa.providers.requests import segment


@pytest.mark.parametrize("name", ["", ".", "..", None])
def test_what_would_be_another_address(name: object) -> None:
    with pytest.raises(UnavailableError):
        segment(name)


@pytest.mark.parametrize(("name", "written"), [("a/b", "a%2Fb"), ("auth0|x", "auth0%7Cx"), ("...", "..."), (7, "7")])
def test_everything_else_is_text(name: object, written: str) -> None:
    assert segment(name) == written
