"""Members, webhooks, keys and connections: what the forms do, what is shown once, and to whom."""

import html
import re

import click
import pytest
from httpx import Response

from admin_api.access import ACCESS
from headgate.agents.scopes import Scope
from headgate.cli.main import headgate
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_PATHS = ("/settings/members", "/settings/webhooks", "/settings/keys", "/connections")


async def test_settings_lead_to_every_page_of_them(gate) -> None:
    person = gate.person()
    paths = set(re.findall(r'<li><a href="(/settings/[^"]+)"', (await person.get("/settings")).text))
    pages = {path for method, path in ACCESS if method == "GET" and re.fullmatch(r"/settings/[a-z-]+", path)}
    assert paths == pages
    for path in paths:
        shown = await person.get(path)
        assert shown.status_code == 200
        assert f'<a href="{path}" aria-current="true">' in shown.text


@pytest.mark.parametrize("path", ["/settings/siem", "/settings/webhooks", "/settings/captures"])
async def test_an_empty_list_has_a_command_to_copy_that_exists(gate, path) -> None:
    shown = html.unescape((await gate.person().get(path)).text)
    (command,) = re.findall(r'<pre class="snippet" id="try">headgate (.*?)</pre>', shown)
    name, *words = command.split()
    group = headgate.get_command(click.Context(headgate), name)
    assert isinstance(group, click.Group)
    found = group.commands[words[0]]
    assert found.make_context(words[0], words[1:], resilient_parsing=False).params


async def test_roles_are_given_and_people_deactivated(gate) -> None:
    person = gate.person()
    await gate.person("vera", Role.VIEWER).get("/v1/actions")
    users = (await person.get("/admin/users")).json()["data"]
    vera = next(one for one in users if one["subject"] == "vera")
    path = f"/settings/members/{vera['id']}"
    assert (await person.post(path, data={"act": "roles", "roles": ["approver", "auditor"]})).status_code == 303
    users = (await person.get("/admin/users")).json()["data"]
    assert next(one for one in users if one["id"] == vera["id"])["granted_roles"] == ["approver", "auditor"]
    for act, is_over in (("deactivate", True), ("reactivate", False)):
        assert (await person.post(path, data={"act": act})).status_code == 303
        users = (await person.get("/admin/users")).json()["data"]
        assert (next(one for one in users if one["id"] == vera["id"])["deactivated_at"] is not None) is is_over
    assert (await person.post(path, data={"act": "promote"})).status_code == 400
    assert (
        await person.post(f"/settings/members/{new_id(IdPrefix.USER)}", data={"act": "sign-out"})
    ).status_code == 404


async def test_a_members_page_shows_and_ends_sessions(gate, new_gate) -> None:
    person = gate.person()
    vera_id = (await gate.person("vera", Role.VIEWER).get("/auth/session")).json()["user_id"]
    path = f"/settings/members/{vera_id}"
    shown = (await person.get(path)).text
    assert "vera@example.com" in shown and "No browser is signed in" in shown and ">Deactivate vera" in shown
    own_id = (await person.get("/auth/session")).json()["user_id"]
    assert ">Deactivate " not in (await person.get(f"/settings/members/{own_id}")).text
    # All of them: her token is refused from now on, too.
    assert (await person.post(f"{path}/sessions", data={"session": "all"})).headers["location"] == path
    unknown = {"session": new_id(IdPrefix.SESSION)}
    assert (await person.post(f"{path}/sessions", data=unknown)).status_code == 404
    stranger = (await new_gate()).person()
    assert (await stranger.get(path)).status_code == 404
    for session in ("all", new_id(IdPrefix.SESSION)):
        assert (await stranger.post(f"{path}/sessions", data={"session": session})).status_code == 404
    viewer = gate.person("vic", Role.VIEWER)
    assert (await viewer.get(path)).status_code == 403
    assert (await viewer.post(f"{path}/sessions", data={"session": "all"})).status_code == 403


async def test_a_webhook_from_its_form_to_its_end(gate) -> None:
    person = gate.person()
    made = await person.post("/settings/webhooks", data={"url": "https://hooks.example.com/a", "events": []})
    assert made.status_code == 201, html.unescape(made.text)
    secret = re.findall(r"whsec_[A-Za-z0-9+/=]+", made.text)[0]
    (endpoint,) = (await person.get("/admin/webhooks")).json()["data"]
    path = f"/settings/webhooks/{endpoint['id']}"
    assert secret not in (await person.get(path)).text
    for act in ("disable", "enable", "test"):
        assert (await person.post(path, data={"act": act})).status_code == 303
    assert "webhook.test" in (await person.get(path)).text
    rotated = await person.post(path, data={"act": "rotate"})
    assert (rotated.status_code, secret in rotated.text) == (201, False)
    assert (await person.post(path, data={"act": "delete"})).headers["location"] == "/settings/webhooks"
    assert (await person.get(path)).status_code == 404


async def test_a_wrong_address_is_refused_and_stays_typed(gate) -> None:
    answer = await gate.person().post("/settings/webhooks", data={"url": "ftp://x"})
    assert answer.status_code == 400
    assert 'value="ftp://x"' in answer.text


async def test_keys_are_created_revoked_and_found_in_what_leaked(gate) -> None:
    person = gate.person()
    made = await person.post("/settings/keys", data={"act": "create", "name": "ci", "scopes": ["policies:read"]})
    (key,) = set(re.findall(r"hg_[A-Za-z0-9]{40,}", made.text))
    assert key not in (await person.get("/settings/keys")).text
    async with gate.api.client(Authorization=f"Bearer {key}") as program:
        assert (await program.get("/admin/policies")).status_code == 200
        leaked = await person.post("/settings/keys", data={"act": "leaked", "matching": f"export KEY={key}"})
        assert "1 keys revoked." in leaked.text
        assert (await program.get("/admin/policies")).status_code == 401
    no_scope = await person.post("/settings/keys", data={"act": "create", "name": "ci"})
    assert (no_scope.status_code, "scope" in no_scope.text) == (400, True)
    assert (
        await person.post("/settings/keys", data={"act": "revoke", "key_id": new_id(IdPrefix.KEY)})
    ).status_code == 404


async def test_an_empty_list_of_connections_teaches_the_next_step(gate) -> None:
    assert "headgate connections" in (await gate.person().get("/connections")).text
    missing = f"/connections/{new_id(IdPrefix.CONNECTION)}"
    assert (await gate.person().get(missing)).status_code == 404
    for act, status in (("test", 404), ("delete", 404), ("dance", 404)):
        assert (await gate.person().post(missing, data={"act": act})).status_code == status


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
@pytest.mark.parametrize("path", _PATHS)
async def test_only_administrators_see_settings(gate, role: Role, path: str) -> None:
    person = gate.person(role.value, role)
    assert (await person.get(path)).status_code == 403
    if path != "/connections":
        assert (await person.post(path, data={"act": "create", "name": "mine"})).status_code == 403


async def test_no_key_opens_a_page(gate) -> None:
    program = await gate.key(Scope.ADMIN)
    for path in (*_PATHS, "/inbox", "/stop"):
        answer = await program.get(path)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/auth/login")


async def test_destinations_are_saved_and_a_stale_page_is_refused(gate) -> None:
    person, path = gate.person(), "/settings/destinations"

    async def post(**form: str) -> Response:
        return await person.post(path, data=form)

    shown = (await person.get(path)).text
    assert 'name="version" value=""' in shown
    document = '{"destinations": [{"host": "api.example.com"}], "tools": []}'
    assert (await post(act="replace", document=document)).status_code == 303
    assert (await post(act="add", host="10.0.0.0/8", ports="443, 8443", note="ERP")).status_code == 303
    assert (await post(act="add-tool", tool="stripe")).status_code == 303
    saved = await person.get("/admin/settings/allowlist")
    erp = {"host": "10.0.0.0/8", "ports": [443, 8443], "private": False, "note": "ERP"}
    assert saved.json() == {"destinations": [{"host": "api.example.com"}, erp], "tools": ["stripe"]}
    table = (await person.get(path)).text
    assert all(f">{text}</td>" in table for text in ("443, 8443", "All", "No", "ERP"))

    removal = {"act": "remove", "list": "destinations", "number": "1", "version": saved.headers["etag"]}
    assert (await post(**removal)).status_code == 303
    stale = await post(**removal)
    assert stale.status_code in (409, 412)
    assert (await post(act="remove", list="tools", number="1")).status_code == 303
    saved = await person.get("/admin/settings/allowlist")
    assert saved.json() == {"destinations": [erp], "tools": []}

    for wrong in ("{", '{"destinations": [{"host": "exa mple"}]}', '{"planets": []}'):
        refused = await post(act="replace", document=wrong)
        assert refused.status_code == 400
        assert wrong in html.unescape(refused.text)
    for form in (
        {"act": "add", "host": "exa mple"},
        {"act": "add", "host": "api.example.com", "ports": "https"},
        {"act": "add", "host": "api.example.com", "ports": "70000"},
        {"act": "add-tool", "tool": ""},
        {"act": "remove", "list": "destinations", "number": "2"},
        {"act": "remove", "list": "planets", "number": "1"},
        {"act": "dance"},
    ):
        assert (await post(**form)).status_code == 400, form
    assert (await person.get("/admin/settings/allowlist")).json() == saved.json()
    assert (await gate.person("vera", Role.VIEWER).post(path, data=removal)).status_code == 403
