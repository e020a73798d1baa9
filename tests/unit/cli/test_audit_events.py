"""``headgate audit list``: what each event decided, and which canary tokens it is about."""

from typing import Any

import pytest

from headgate.cli.audit_events import decided, found_canaries, refused_calls


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


def test_canaries_and_their_places() -> None:
    entries = [{"name": "wiki", "place": "$.body.note base64"}, {"name": "s3", "place": "$.http.query.q"}]
    assert found_canaries({"canaries": entries}) == "wiki in $.body.note base64; s3 in $.http.query.q"
    assert found_canaries({"decision": "deny", "canaries": entries}) is None
    assert found_canaries({}) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "-"),
        ({"count": 1, "calls": [{"method": "GET", "host": "a.example", "port": 443, "path": "/b"}]}, "GET a.example/b"),
        (
            {"count": 3, "calls": [{"method": "CONNECT", "host": "10.0.0.7", "port": 22}]},
            "CONNECT 10.0.0.7:22 and 2 more",
        ),
    ],
)
def test_calls_that_were_refused(data: dict[str, Any], said: str) -> None:
    assert refused_calls(data) == said
