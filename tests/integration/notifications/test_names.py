"""Messages call agents and people by what people know them by, also where an event has no action of theirs."""

import json

from headgate.audit.model import EventType
from headgate.organizations.change import begin_change


async def _payloads(people) -> list[dict[str, object]]:
    await people.relay()
    return [json.loads(one.payload) for one in await people.messages()]


async def _record(people, event_type: EventType, data, agent_id: str | None = None) -> None:
    async with begin_change(people.api, people.change()) as change:
        await change.record(event_type, data, agent_id=agent_id)


async def test_the_owner_of_what_broke_is_called_by_their_address(people, organization, applied, superuser) -> None:
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles) VALUES (%s, 'usr_ada', 'i', 's', %s, '{}')",
        [organization.org_id, "ada@example.com"],
    )
    await people.put({"channels": {"all": {"kind": "apprise", "url": "ntfy://topic"}}})
    for owner in ("usr_ada", "usr_gone", "key_1"):
        await _record(people, EventType.CONNECTION_BROKEN, {"owner": owner, "reason": "GitHub: revoked"})
    await applied()
    assert sorted(str(one["owner"]) for one in await _payloads(people)) == ["ada@example.com", "key_1", "usr_gone"]


async def test_an_event_of_an_agent_has_its_name_and_is_routed_by_it(people, organization, applied) -> None:
    await people.put(
        {
            "channels": {"all": {"kind": "apprise", "url": "ntfy://topic"}},
            "routes": [{"events": ["break_glass.opened"], "agents": ["Robot"], "channels": ["all"]}],
        }
    )
    for agent_id in (organization.agent_id, "agt_another"):
        await _record(people, EventType.BREAK_GLASS_OPENED, {"reason": "an outage"}, agent_id)
    await applied()
    [told] = await _payloads(people)
    assert (told["agent_name"], told["agent_id"], told["by"]) == ("Robot", organization.agent_id, "ada@example.com")
