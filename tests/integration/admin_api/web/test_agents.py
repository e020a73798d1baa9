"""Agents: connected with a key that is shown once, changed, stopped; what their names say is only shown."""

import html
import re

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_HOSTILE = "<img src=x onerror=alert(1)>\u202e"


async def test_connect_an_agent_in_a_minute(gate) -> None:
    person = gate.person()
    made = await person.post("/agents/new", data={"name": _HOSTILE, "owner": "ada@example.com"})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    (key,) = set(re.findall(r"hg_[A-Za-z0-9]{40,}", made.text))
    assert "<img" not in made.text
    assert "\u202e" not in made.text
    for client in ("Shell", "Docker", "Python", "Node", "Claude Code", "Codex", "Cursor"):
        assert f"<summary>{client} " in made.text
    (agent,) = [one for one in (await person.get("/admin/agents")).json()["data"] if one["name"] == _HOSTILE]
    address = f"/agents/{agent['id']}"
    shown = (await person.get(address)).text
    assert key not in shown  # once
    assert f'data-page="{address}"' in shown  # it waits for the first call
    assert address in (await person.get("/agents?q=img")).text
    async with gate.api.client(X_Agent_Key=key) as as_agent:
        await as_agent.post("/v1/actions", json={"tool": "write", "operation": "line", "params": {}})


async def test_a_form_that_is_sent_again_makes_no_second_agent(gate) -> None:
    person = gate.person()
    assert (await person.post("/agents/new", data={"name": "crawler"})).status_code == 201
    again = await person.post("/agents/new", data={"name": "crawler"})
    assert (again.status_code, "exists. Choose another name" in again.text) == (409, True)
    named = [one for one in (await person.get("/admin/agents")).json()["data"] if one["name"] == "crawler"]
    assert len(named) == 1


async def test_a_key_is_added_rotated_and_revoked(gate) -> None:
    person = gate.person()
    made = await person.post("/agents/new", data={"name": "billing"})
    address = re.search(r'data-page="(/agents/[^"]+)"', made.text)
    assert address is not None
    path = address[1]
    keys = f"/admin{path}/keys"
    assert (await person.post(path, data={"act": "create-key", "name": "second"})).status_code == 201
    first = (await person.get(keys)).json()["data"][-1]["id"]
    assert (await person.post(path, data={"act": "rotate-key", "key_id": first})).status_code == 201
    assert (await person.post(path, data={"act": "revoke-key", "key_id": first})).status_code in (303, 409)
    states = [one["status"] for one in (await person.get(keys)).json()["data"]]
    assert states.count("active") == 2
    assert (await person.post(path, data={"act": "revoke-key", "key_id": new_id(IdPrefix.KEY)})).status_code == 404


async def test_suspend_resume_and_deactivate(gate) -> None:
    person = gate.person()
    made = await person.post("/agents/new", data={"name": "billing"})
    path = re.findall(r'data-page="(/agents/[^"]+)"', made.text)[0]
    for act, state in (("suspend", "suspended"), ("resume", "active"), ("deactivate", "deactivated")):
        assert (await person.post(path, data={"act": act, "reason": "test"})).status_code == 303
        assert (await person.get(f"/admin{path}")).json()["status"] == state
    refused = await person.post(path, data={"act": "resume"})
    assert refused.status_code == 409
    unknown = await person.post(path, data={"act": "promote"})
    assert (unknown.status_code, "Unknown action" in html.unescape(unknown.text)) == (400, True)


async def test_a_name_is_needed(gate) -> None:
    refused = await gate.person().post("/agents/new", data={"name": "", "owner": "ada"})
    assert refused.status_code == 400
    assert "name: " in html.unescape(refused.text)
    assert 'value="ada"' in refused.text


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
async def test_only_administrators_see_agents_and_their_keys(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    for path in ("/agents", "/agents/new", f"/agents/{new_id(IdPrefix.AGENT)}"):
        assert (await person.get(path)).status_code == 403
    assert (await person.post("/agents/new", data={"name": "mine"})).status_code == 403


async def test_what_is_another_organizations_is_not_there(gate) -> None:
    path = f"/agents/{new_id(IdPrefix.AGENT)}"
    assert (await gate.person().get(path)).status_code == 404
    assert (await gate.person().post(path, data={"act": "suspend"})).status_code == 404
