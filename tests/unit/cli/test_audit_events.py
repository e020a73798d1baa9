"""``headgate audit list``: what each event decided."""

from typing import Any

import pytest

from headgate.cli.audit_events import decided


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"decision": "deny", "reason": "no"}, "deny"),
        ({"vote": "approve"}, "approve"),
        ({"decision": {"odd": 1}}, "-"),
        ({}, "-"),
    ],
    ids=["decision", "vote", "no text", "none"],
)
def test_what_an_event_decided(data: dict[str, Any], said: str) -> None:
    assert decided(data) == said
