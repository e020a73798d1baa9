"""What is stopped: pure, and never unreadable in silence."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.organizations.stops import (
    NOTHING_STOPPED,
    Stop,
    StopScope,
    parse_stops,
    stopping,
    stops_text,
    with_stop,
    without_stop,
)

EVERYTHING = Stop(StopScope.ORGANIZATION, None, "an incident", "alice", "2026-11-21T10:00:00Z")
ONE_AGENT = Stop(StopScope.AGENT, "agt_1", "it loops", "alice", "2026-11-21T10:00:00Z")
ONE_TOOL = Stop(StopScope.TOOL, "mail", "it leaks", "bob", "2026-11-21T10:00:00Z")


@pytest.mark.parametrize(
    ("stops", "agent_id", "tool", "by"),
    [
        (NOTHING_STOPPED, "agt_1", "mail", None),
        ((EVERYTHING,), "agt_2", "read", EVERYTHING),
        ((ONE_AGENT, ONE_TOOL), "agt_1", "read", ONE_AGENT),
        ((ONE_AGENT, ONE_TOOL), "agt_2", "mail", ONE_TOOL),
        ((ONE_AGENT, ONE_TOOL), "agt_2", "read", None),
        ((ONE_AGENT,), None, "read", None),
        ((Stop(StopScope.TOOL, "agt_1", "x", "y", "z"),), "agt_1", "read", None),
    ],
)
def test_what_is_stopped(stops, agent_id, tool, by) -> None:
    assert stopping(stops, agent_id=agent_id, tool=tool) == by


def test_a_stop_is_there_once_and_survives_being_kept() -> None:
    stops = with_stop(with_stop((ONE_TOOL,), ONE_AGENT), EVERYTHING)
    assert stops == (EVERYTHING, ONE_AGENT, ONE_TOOL)
    again = Stop(StopScope.TOOL, "mail", "it still leaks", "carol", "2026-11-21T11:00:00Z")
    assert with_stop(stops, again) == (EVERYTHING, ONE_AGENT, again)
    assert parse_stops(stops_text(stops)) == stops
    assert without_stop(stops, StopScope.AGENT, "agt_1") == ((EVERYTHING, ONE_TOOL), ONE_AGENT)
    assert without_stop(stops, StopScope.AGENT, "agt_2") == (stops, None)


@pytest.mark.parametrize("document", ["[]", "{}", '{"stops": 1}', '{"stops": [{"scope": "world"}]}', "null", "{"])
def test_what_cannot_be_read_is_an_error(document: str) -> None:
    with pytest.raises(ValidationError):
        parse_stops(document)
