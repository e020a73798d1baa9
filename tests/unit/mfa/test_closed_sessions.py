"""Which tokens are refused once a person's other sessions were closed."""

from datetime import UTC, datetime

import pytest

from headgate.kernel.secrets import Secret
from headgate.mfa.closed_sessions import Closure, token_digest

AT = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)
T = AT.timestamp()
KEPT, OTHER = Secret("kept"), Secret("other")


@pytest.mark.parametrize(
    ("issued_at", "token", "refused"),
    [
        (T - 3600, OTHER, True),
        (T - 0.001, OTHER, True),
        (T + 0.001, OTHER, False),
        (T - 3600, KEPT, False),
        (None, KEPT, False),
        (None, OTHER, True),
        # Whole seconds: of the very second is undecided, and counts as later.
        (int(T), OTHER, False),
        (int(T) - 1, OTHER, True),
    ],
)
def test_who_is_refused(issued_at: float | None, token: Secret, refused: bool) -> None:
    assert Closure(AT, token_digest(KEPT)).refuses(issued_at, token) is refused
