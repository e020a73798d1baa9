"""Keys over HTTP and at a terminal: how long they last, which are old, and what happens when one has leaked."""

import asyncio
import os
import sys
from datetime import datetime, timedelta

import pytest

from headgate.agents.keys import compose_key, generate_key
from headgate.agents.scopes import KeyKind, Scope
from headgate.kernel.clock import rfc3339, system_clock
from headgate.kernel.errors import UnauthorizedError
from headgate.organizations.model import Role


async def works(api, key: str) -> bool:
    try:
        await api.inside(api.dependencies.keys.authenticate(key, fresh=True))
    except UnauthorizedError:
        return False
    return True


async def test_the_operator_may_give_every_key_an_end(start_api, organization) -> None:
    api = await start_api(key_lifetime_days=30)
    async with api.as_admin(organization.org_id) as admin:
        made = (await admin.post("/admin/keys", json={"name": "k", "scopes": ["actions:read"]})).json()
        ever = {"name": "k", "scopes": ["actions:read"], "expires_in_days": "never"}
        assert (await admin.post("/admin/keys", json=ever)).json()["expires_at"] is None
    ends = datetime.fromisoformat(made["expires_at"])
    assert timedelta(days=29.9) < ends - system_clock() < timedelta(days=30.1)


@pytest.mark.parametrize(
    ("body", "days"),
    [
        ({}, None),
        ({"expires_in_days": 30}, 30),
        ({"expires_in_days": 365}, 365),
        ({"expires_in_days": "never"}, None),
        ({"expires_at": None}, None),
        ({"expires_at": 7}, 7),
    ],
)
async def test_how_long_a_key_lasts(gate, body: dict[str, object], days: int | None) -> None:
    if body.get("expires_at"):
        body = {"expires_at": rfc3339(system_clock() + timedelta(days=7))}
    admin = gate.person()
    for path in ("/admin/keys", f"/admin/agents/{gate.agent_id}/keys"):
        answer = await admin.post(path, json={"name": "k", "scopes": ["actions:read"], **body})
        assert answer.status_code == 201, answer.text
        record = (await admin.get(f"/admin/keys/{answer.json()['id']}")).json()
        if days is None:
            assert record["expires_at"] is None
        else:
            left = (await superuser_days(gate, record["id"])).total_seconds() / 86_400
            assert days - 0.01 < left <= days + 0.01


async def superuser_days(gate, key_id: str) -> timedelta:
    async with gate.api.dependencies.database.transaction(gate.org_id) as connection:
        cursor = await connection.execute(
            "SELECT expires_at - created_at AS left FROM api_keys WHERE org_id = %s AND key_id = %s",
            [gate.org_id, key_id],
        )
        row = await cursor.fetchone()
    assert row is not None
    return row["left"]


@pytest.mark.parametrize(
    "body",
    [
        {"expires_in_days": 31},
        {"expires_in_days": "ever"},
        {"expires_in_days": 30, "expires_at": None},
        {"expires_at": 4102444800},
        {"expires_at": "4102444800"},
        {"expires_at": "2100-01-01"},
        {"expires_at": "9999-12-31T23:59:59-14:00"},
    ],
)
async def test_a_lifetime_that_cannot_be_chosen(gate, body: dict[str, object]) -> None:
    answer = await gate.person().post("/admin/keys", json={"name": "k", "scopes": ["actions:read"], **body})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"].startswith("expires_")


async def test_old_keys_are_due_and_others_are_not(gate, superuser) -> None:
    record, _ = await gate.api.key(gate.org_id, Scope.ACTIONS_READ)
    old, _ = await gate.api.key(gate.org_id, Scope.ACTIONS_READ, kind=KeyKind.AGENT, agent_id=gate.agent_id)
    gone, _ = await gate.api.key(gate.org_id, Scope.ACTIONS_READ)
    superuser.execute(
        "UPDATE api_keys SET created_at = now() - interval '90 days' WHERE key_id = ANY (%s)",
        [[old.key_id, gone.key_id]],
    )
    admin = gate.person()
    await admin.delete(f"/admin/keys/{gone.key_id}")
    due = {one["id"]: one["rotation_due"] for one in (await admin.get("/admin/keys")).json()["data"]}
    assert (due[record.key_id], due[old.key_id], due[gone.key_id]) == (False, True, False)
    listed = (await admin.get("/admin/keys", params={"rotation_due": "true"})).json()
    assert ([one["id"] for one in listed["data"]], listed["pagination"]["total"]) == ([old.key_id], 1)
    assert (await admin.get(f"/admin/agents/{gate.agent_id}")).json()["keys_due_for_rotation"] == 1
    assert [one["id"] for one in (await admin.get("/admin/keys?status=revoked")).json()["data"]] == [gone.key_id]
    assert len((await admin.get("/admin/keys?kind=agent&status=active")).json()["data"]) == 2


async def test_a_leaked_text_ends_the_keys_in_it_and_no_others(gate, new_organization) -> None:
    api = gate.api
    first, one = await api.key(gate.org_id, Scope.ACTIONS_READ)
    _, two = await api.key(gate.org_id, Scope.ACTIONS_READ)
    foreign = new_organization()
    _, theirs = await api.key(foreign.org_id, Scope.ACTIONS_READ)
    log = f"GET /v1/actions X-Agent-Key: {one}\nand {theirs}, {generate_key().reveal()}, {two}x, {two[:-1]}"
    admin = gate.person()
    shown = (await admin.post("/admin/keys/revoke-matching", json={"matching": log, "only_show": True})).json()
    assert ([key["id"] for key in shown["data"]], shown["revoked"]) == ([first.key_id], 1)
    assert await works(api, one)
    answer = await admin.post("/admin/keys/revoke-matching", json={"matching": log})
    assert [(key["id"], key["status"]) for key in answer.json()["data"]] == [(first.key_id, "revoked")]
    assert one not in answer.text
    assert [await works(api, key) for key in (one, two, theirs)] == [False, True, True]
    again = (await admin.post("/admin/keys/revoke-matching", json={"matching": log})).json()
    assert again["revoked"] == 0


async def test_a_beginning_or_an_agent_is_enough(gate) -> None:
    api, admin = gate.api, gate.person()
    record, key = await api.key(gate.org_id, Scope.ACTIONS_READ)
    for beginning in (record.display, key[:20]):
        shown = await admin.post("/admin/keys/revoke-matching", json={"matching": beginning, "only_show": True})
        assert [one["id"] for one in shown.json()["data"]] == [record.key_id]
    answer = (await admin.post("/admin/keys/revoke-matching", json={"matching": gate.agent_id})).json()
    assert (answer["revoked"], await works(api, gate.agent_key), await works(api, key)) == (1, False, True)


@pytest.mark.parametrize(
    "matching", ["hg_", "hg_ab", "hg_a%c", "sk_live_1", " ", "agt_1", compose_key(bytes(32)).reveal()[:-1] + "é"]
)
async def test_what_could_match_anything_matches_nothing(gate, matching: str) -> None:
    answer = await gate.person().post("/admin/keys/revoke-matching", json={"matching": matching})
    assert answer.status_code == 400
    assert len(matching) < 4 or matching not in answer.text
    assert await works(gate.api, gate.agent_key)


async def test_the_same_at_a_terminal(gate) -> None:
    record, key = await gate.api.key(gate.org_id, Scope.ACTIONS_READ)
    environment = {
        **os.environ,
        "HEADGATE_API_URL": gate.api.url,
        "HEADGATE_TOKEN": gate.api.token(gate.org_id, Role.ADMIN),
    }

    async def called(*arguments: str, text: str = "") -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headgate.cli.main", "keys", *arguments, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate(text.encode())
        return process.returncode, output.decode()

    status, listed = await called("list", "--kind", "admin")
    assert (status, record.key_id in listed) == (0, True), listed
    status, revoked = await called("revoke", "--matching", "-", text=f"leaked: {key}")
    assert "1 revoked" in revoked, revoked
    assert not await works(gate.api, key)
    assert (await called("revoke"))[0] == 2


async def test_a_program_keeps_no_right_that_its_owner_lost(gate, superuser) -> None:
    """Also where the key is cached: the change of roles ends what the process knows of it."""
    owner = gate.person("olga")
    made = (await owner.post("/admin/keys", json={"name": "k", "scopes": ["admin:*"]})).json()
    program = gate.client(Authorization=f"Bearer {made['key']}")
    submitted = {"tool": "read", "operation": "rows"}
    assert (await program.get("/admin/agents")).status_code == 200
    assert (await gate.person("olga", Role.APPROVER).get("/v1/approvals")).status_code == 200
    refused = await program.get("/admin/agents")
    assert (refused.status_code, refused.json()["error"]["details"]) == (403, {"missing_scope": "admin:*"})
    assert (await program.get("/v1/approvals")).status_code == 200
    assert (await program.post("/v1/actions", json=submitted)).status_code == 403
    superuser.execute("UPDATE users SET roles = '{}' WHERE org_id = %s AND subject = 'olga'", [gate.org_id])
    assert (await program.get("/v1/approvals")).status_code == 403
