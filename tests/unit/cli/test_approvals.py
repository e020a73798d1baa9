"""What a person is shown of an approval."""

from typing import Any

import pytest

from headgate.cli.approvals import told

AT = "2026-11-21T12:50:05Z"


@pytest.mark.parametrize(
    ("by", "reason", "text"),
    [
        ({"id": "usr_1", "email": "ann@example.com"}, "too much", f"{AT} by ann@example.com: too much"),
        ({"id": "usr_1", "email": None}, None, f"{AT} by usr_1"),
        (None, None, AT),
    ],
)
def test_history_says_when_by_whom_and_what(by: Any, reason: str | None, text: str) -> None:
    assert told({"event": "denied", "at": AT, "by": by, "reason": reason}) == text
