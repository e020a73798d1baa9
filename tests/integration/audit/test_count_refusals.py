"""Refusals before a decision: counted in the proxy, written as one event for each agent and code."""

from headgate.audit import store
from headgate.audit.count_refusals import RefusalCounts, RefusedCall, RefusedRequest
from headgate.audit.model import EventFilter
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.clock import system_clock

CALL = RefusedCall("GET", "10.0.0.5", 443, "/x", ("a",), "not allowed")


async def test_an_event_names_the_agent_and_counts(
    proxy_database: Database, api_database: Database, organization
) -> None:
    counts = RefusalCounts(proxy_database, system_clock)
    for code in ("RATE_LIMITED", "RATE_LIMITED", "DESTINATION_BLOCKED"):
        counts.add(RefusedRequest(organization.org_id, organization.agent_id, "Robot", code), lambda: CALL)
    await counts.write()
    await counts.write()
    await apply_before_reading(api_database, organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        wanted = EventFilter(event_type="request.refused")
        page = await store.list_events(connection, organization.org_id, wanted)
    assert {(event.actor.name, event.data["code"], event.data["count"]) for event in page.events} == {
        ("Robot", "RATE_LIMITED", 2),
        ("Robot", "DESTINATION_BLOCKED", 1),
    }
    assert len(page.events) == 2
    named = {"method": "GET", "host": "10.0.0.5", "port": 443, "path": "/x", "query": ["a"], "reason": "not allowed"}
    assert [event.data["calls"] for event in page.events] == [[named], [named]]
