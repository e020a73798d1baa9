"""Which channels hear of what, and when."""

from datetime import UTC, datetime

import pytest

from headgate.kernel.canonical_json import JsonObject
from headgate.notifications.model import NOTHING_SET, NotificationSettings
from headgate.notifications.parse import parse_notifications
from headgate.notifications.routing import Subject, channels_for

_NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)  # a Monday


def settings(*routes: JsonObject, disabled: tuple[str, ...] = ()) -> NotificationSettings:
    channels: JsonObject = {
        name: {"kind": "apprise", "url": "ntfy://topic", "enabled": name not in disabled} for name in ("a", "b")
    }
    return parse_notifications({"channels": channels, "routes": list(routes)}, NOTHING_SET, lambda: "con_1").settings


def subject(event: str = "approval.requested", risk: str = "high", tool: str = "github") -> Subject:
    return Subject(event, risk, tool, frozenset({"agt_1", "Robot"}), frozenset({"ada@example.com"}))


def test_without_routes_everybody_hears_what_is_urgent_and_nothing_else() -> None:
    assert channels_for(settings(), subject(), _NOON) == ["a", "b"]
    assert channels_for(settings(), subject("approval.approved"), _NOON) == []
    assert channels_for(settings(disabled=("a",)), subject(), _NOON) == ["b"]


@pytest.mark.parametrize(
    ("condition", "fits"),
    [
        ({}, True),
        ({"risk_levels": ["high", "critical"]}, True),
        ({"risk_levels": ["critical"]}, False),
        ({"tools": ["git*"]}, True),
        ({"tools": ["mail"]}, False),
        ({"agents": ["agt_1"]}, True),
        ({"agents": ["Robot"]}, True),
        ({"agents": ["agt_2"]}, False),
        ({"assignees": ["ada@example.com"]}, True),
        ({"assignees": ["bob@example.com"]}, False),
        ({"events": ["approval.requested"]}, True),
        ({"events": ["approval.denied"]}, False),
        ({"risk_levels": ["high"], "tools": ["mail"]}, False),
    ],
)
def test_every_condition_must_hold(condition: JsonObject, fits: bool) -> None:
    found = channels_for(settings({"channels": ["a"], **condition}), subject(), _NOON)
    assert found == (["a"] if fits else [])


def test_two_routes_to_one_channel_are_one_message() -> None:
    both: list[JsonObject] = [{"channels": ["a"]}, {"channels": ["b", "a"]}]
    assert channels_for(settings(*both), subject(), _NOON) == ["a", "b"]


@pytest.mark.parametrize(
    ("between", "at", "fits"),
    [
        ({"from": "08:00", "until": "18:00", "time_zone": "UTC"}, "2026-11-23T08:00", True),
        ({"from": "08:00", "until": "18:00", "time_zone": "UTC"}, "2026-11-23T18:00", False),
        ({"from": "08:00", "until": "18:00", "time_zone": "Europe/Berlin"}, "2026-11-23T07:30", True),
        ({"from": "08:00", "until": "18:00", "time_zone": "America/New_York"}, "2026-11-23T12:00", False),
        ({"from": "08:00", "until": "18:00", "days": ["sat"], "time_zone": "UTC"}, "2026-11-23T12:00", False),
        # Over midnight: the night from Sunday belongs to Sunday.
        ({"from": "22:00", "until": "06:00", "days": ["sun"], "time_zone": "UTC"}, "2026-11-23T05:59", True),
        ({"from": "22:00", "until": "06:00", "days": ["mon"], "time_zone": "UTC"}, "2026-11-23T05:59", False),
        ({"from": "22:00", "until": "06:00", "days": ["mon"], "time_zone": "UTC"}, "2026-11-23T23:00", True),
        # The hour that happens twice when summer time ends is within, both times.
        ({"from": "02:00", "until": "03:00", "time_zone": "Europe/Berlin"}, "2026-10-25T00:30", True),
        ({"from": "02:00", "until": "03:00", "time_zone": "Europe/Berlin"}, "2026-10-25T01:30", True),
    ],
)
def test_time_of_day(between: JsonObject, at: str, fits: bool) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    found = channels_for(settings({"channels": ["a"], "between": between}), subject(), now)
    assert found == (["a"] if fits else [])
