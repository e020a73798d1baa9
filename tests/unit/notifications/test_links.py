"""Links: bound to approval and recipient, and to nothing that somebody else can make."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.kernel.errors import NotFoundError
from headgate.notifications.links import Link, claimed, new_key, sign, verify

_LINK = Link("org_1", "apr_1", "on-call", "usr_1", datetime(2026, 11, 21, 12, tzinfo=UTC))


def test_what_was_signed_is_read() -> None:
    key = new_key()
    token = sign(_LINK, key)
    assert verify(token, key) == claimed(token) == _LINK
    assert verify(sign(replace(_LINK, user_id=None), key), key).user_id is None


@pytest.mark.parametrize("change", [{"approval_id": "apr_2"}, {"user_id": "usr_2"}, {"org_id": "org_2"}])
def test_a_changed_claim_does_not_fit_the_signature(change: dict[str, str]) -> None:
    key = new_key()
    body, _, mac = sign(_LINK, key).partition(".")
    other = sign(replace(_LINK, **change), key).partition(".")[0]
    assert other != body
    with pytest.raises(NotFoundError):
        verify(f"{other}.{mac}", key)
    with pytest.raises(NotFoundError):
        verify(sign(_LINK, new_key()), key)


def test_what_no_column_holds_is_no_link() -> None:
    """Whose key verifies it is looked up by what anybody may have written."""
    with pytest.raises(NotFoundError):
        claimed(sign(replace(_LINK, org_id="org_\0"), new_key()))


@given(st.text(max_size=80) | st.binary(max_size=60).map(lambda data: data.hex()))
def test_anything_else_is_no_link(token: str) -> None:
    with pytest.raises(NotFoundError):
        verify(token, new_key())
    with pytest.raises(NotFoundError):
        claimed(token)
