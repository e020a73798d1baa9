"""TOTP against the values of RFC 6238, appendix B (their last six digits), and what is accepted when."""

from base64 import b32encode
from datetime import UTC, datetime

import pytest

from headgate.kernel.secrets import Secret
from headgate.mfa.totp import STEP_SECONDS, code_at, matching_step, new_secret, provisioning_uri, step_of

SEED = Secret(b32encode(b"12345678901234567890").decode())


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_values_of_the_standard(seconds: int, code: str) -> None:
    now = datetime.fromtimestamp(seconds, UTC)
    assert code_at(SEED, step_of(now)) == code
    assert matching_step(SEED, code, now, None) == seconds // STEP_SECONDS


def test_one_step_before_and_after_and_none_twice() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    here = step_of(now)
    accepted = [
        step for step in range(here - 3, here + 4) if matching_step(SEED, code_at(SEED, step), now, None) is not None
    ]
    assert accepted == [here - 1, here, here + 1]
    assert matching_step(SEED, code_at(SEED, here), now, here) is None
    assert matching_step(SEED, code_at(SEED, here - 1), now, here) is None
    assert matching_step(SEED, code_at(SEED, here + 1), now, here) == here + 1


def test_what_authenticators_are_given() -> None:
    secret = new_secret()
    assert len(secret.reveal()) == 32
    uri = provisioning_uri(secret, "a:b@example.com")
    assert uri.startswith(f"otpauth://totp/Headgate:a%3Ab%40example.com?secret={secret.reveal()}&issuer=Headgate")
