"""Why a call was denied: who reads it. An owner reads their own agent's calls, whoever else asks is told nothing."""

import httpx
import pytest

from headgate.agents.scopes import Scope
from headgate.organizations.model import Role

_OWNER = "dana@example.com"


async def _agent(gate, owner: str | None, name: str = "Courier") -> tuple[str, httpx.AsyncClient]:
    made = await gate.person().post("/admin/agents", json={"name": name, "owner": owner})
    assert made.status_code == 201, made.text
    return made.json()["id"], gate.client(X_Agent_Key=made.json()["api_key"]["key"])


async def _denied(client: httpx.AsyncClient) -> str:
    body = {"tool": "wipe", "operation": "disk", "params": {"secret_plan": "under the bridge"}}
    answer = await client.post("/v1/actions", json=body)
    assert answer.json()["status"] == "denied", answer.text
    return answer.json()["id"]


def _person(gate, email: str | None, *roles: Role, subject: str | None = None) -> httpx.AsyncClient:
    token = gate.api.token(gate.org_id, *roles, subject=subject or (email or "x").partition("@")[0], email=email)
    return gate.client(Authorization=f"Bearer {token}")


def _paths(action_id: str) -> tuple[str, str]:
    return f"/v1/actions/{action_id}/explanation", f"/calls/{action_id}"


@pytest.fixture
async def denied(gate) -> str:
    _, client = await _agent(gate, _OWNER)
    return await _denied(client)


async def test_the_owner_reads_why_and_nothing_else(gate, denied: str) -> None:
    owner = _person(gate, _OWNER)
    told = await owner.get(f"/v1/actions/{denied}/explanation")
    assert told.status_code == 200, told.text
    page = await owner.get(f"/calls/{denied}")
    assert page.status_code == 200, page.text
    for path in ("", "/body", "?expand=all"):
        assert (await owner.get(f"/v1/actions/{denied}{path}")).status_code == 403
    for path in ("/activity", "/inbox", f"/calls/{denied}/body", "/agents", "/policies", "/audit"):
        assert (await owner.get(path)).status_code == 403, path
    assert told.json()["decision"]["reason"] in page.text.replace("&#39;", "'")
    assert "Change the call, or ask an administrator" in page.text
    for answer in (told.text, page.text):
        assert "under the bridge" not in answer
        assert "alice" not in answer


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_that_reads_calls_reads_it(gate, denied: str, role: Role) -> None:
    status = 403 if role is Role.OPERATOR else 200
    person = _person(gate, "someone@example.com", role)
    for path in _paths(denied):
        assert (await person.get(path)).status_code == status, path


@pytest.mark.parametrize("role", [None, Role.OPERATOR])
async def test_an_owner_who_is_an_operator_reads_it_too(gate, denied: str, role: Role | None) -> None:
    owner = _person(gate, _OWNER, *([] if role is None else [role]))
    for path in _paths(denied):
        assert (await owner.get(path)).status_code == 200, path


@pytest.mark.parametrize(
    ("owner", "email", "subject"),
    [
        ("dana@example.com", "dan@example.com", "dan"),  # a part of it
        ("dana@example.com", "dana@example.com.evil.example", "dana"),
        ("dana@example.com", "xdana@example.com", "xdana"),
        ("dana@example.com", None, "dana@example.com"),  # a subject is no verified address
        ("dana@kelvin.example", "dana@\u212aelvin.example", "dana"),  # lower() makes a k of it
        ("%@example.com", "dana@example.com", "dana"),
        ("*", "dana@example.com", "dana"),
        ("platform team", "dana@example.com", "platform team"),
        (None, None, "dana"),
    ],
)
async def test_who_is_not_the_owner(gate, owner: str | None, email: str | None, subject: str) -> None:
    _, client = await _agent(gate, owner)
    action_id = await _denied(client)
    person = _person(gate, email, subject=subject)
    for path in _paths(action_id):
        answer = await person.get(path)
        assert answer.status_code == 403, (path, answer.text)
        assert "under the bridge" not in answer.text


async def test_letter_case_and_the_user_id(gate) -> None:
    dana = _person(gate, "Dana@Example.COM")
    _, client = await _agent(gate, _OWNER)
    assert (await dana.get(_paths(await _denied(client))[0])).status_code == 200
    users = (await gate.person().get("/admin/users")).json()["data"]
    user_id = next(one["id"] for one in users if (one["email"] or "").lower() == _OWNER)
    _, client = await _agent(gate, user_id)
    assert (await dana.get(_paths(await _denied(client))[0])).status_code == 200


async def test_another_agent_and_what_is_not_there_are_answered_alike(gate, denied: str) -> None:
    other_id = await _denied((await _agent(gate, "someone@example.com", "Other"))[1])
    missing = denied[:-12] + "0" * 12
    owner = _person(gate, _OWNER)
    answers = [(await owner.get(_paths(one)[0])).json()["error"] for one in (other_id, missing)]
    assert [(one["code"], one["message"]) for one in answers] == [
        ("FORBIDDEN", "this credential lacks the scope actions:read")
    ] * 2
    assert [one["details"] for one in answers] == [{"missing_scope": "actions:read"}] * 2


async def test_a_part_of_an_id_names_nothing(gate, denied: str) -> None:
    owner = _person(gate, _OWNER)
    for part in (denied[:-1], denied[:12], denied.upper(), "act_", "act_%"):
        assert (await owner.get(_paths(part)[0])).status_code == 404, part


async def test_the_same_address_in_another_organization(gate, new_gate, denied: str) -> None:
    stranger = await new_gate()
    await _agent(stranger, _OWNER)
    for roles in ((), (Role.ADMIN,)):
        owner = _person(stranger, _OWNER, *roles)
        for path in _paths(denied):
            answer = await owner.get(path)
            assert answer.status_code in (403, 404)
            assert "wipe" not in answer.text


async def test_a_new_owner_takes_it_over_at_once(gate) -> None:
    agent_id, client = await _agent(gate, _OWNER)
    action_id = await _denied(client)
    assert (await gate.person().put(f"/admin/agents/{agent_id}", json={"owner": "new@example.com"})).is_success
    before = _person(gate, _OWNER)
    after = _person(gate, "new@example.com")
    assert (await before.get(_paths(action_id)[0])).status_code == 403
    assert (await after.get(_paths(action_id)[0])).status_code == 200


async def test_a_key_reads_by_its_scopes_alone(gate) -> None:
    dana = _person(gate, _OWNER)
    assert (await dana.get("/account")).status_code == 200
    user_id = next(
        one["id"] for one in (await gate.person().get("/admin/users")).json()["data"] if one["email"] == _OWNER
    )
    _, client = await _agent(gate, user_id)
    path = _paths(await _denied(client))[0]
    assert (await dana.get(path)).status_code == 200
    assert (await (await gate.key(Scope.APPROVALS_READ, user_id=user_id)).get(path)).status_code == 403
    assert (await (await gate.key(Scope.ACTIONS_READ)).get(path)).status_code == 200
    assert (await client.get(path)).status_code == 200
    assert (await gate.as_agent.get(path)).status_code == 404
