"""/settings/groups: groups of approvers from their form to their end."""

import html

import pytest

from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202e"


async def test_a_group_is_created_changed_and_removed(gate) -> None:
    person = gate.person()
    vera_id = (await gate.person("vera", Role.APPROVER).get("/auth/session")).json()["user_id"]
    form = {"name": "release", "description": _HOSTILE, "members": [vera_id], "others": "ana@example.com\r\n\r\n"}
    made = await person.post("/settings/groups", data=form)
    assert (made.status_code, made.headers["location"]) == (303, "/settings/groups/release")
    kept = (await person.get("/admin/approver-groups/release")).json()
    assert kept["members"] == sorted(["ana@example.com", vera_id])
    path = "/settings/groups/release"
    shown = (await person.get(path)).text
    assert f'value="{vera_id}" checked' in shown
    assert "<script>alert" not in shown
    assert ">ana@example.com</textarea>" in shown
    assert "group:release" in (await person.get("/settings/groups")).text
    change = {"act": "save", "version": str(kept["version"]), "members": [vera_id], "others": ""}
    assert (await person.post(path, data=change)).status_code == 303
    assert (await person.get("/admin/approver-groups/release")).json()["members"] == [vera_id]
    stale = await person.post(path, data=change | {"others": "eve@example.com"})
    assert (stale.status_code, ">eve@example.com</textarea>" in stale.text) == (412, True)
    assert (await person.post(path, data={"act": "delete"})).headers["location"] == "/settings/groups"
    assert (await person.get(path)).status_code == 404


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "Release Managers"}, "name"),
        ({"name": "ok", "others": "nobody"}, "members"),
        ({"name": "ok", "others": "group:other@example.com"}, "members"),
    ],
)
async def test_a_refused_form_stays_typed(gate, form: dict[str, str], said: str) -> None:
    answer = await gate.person().post("/settings/groups", data=form)
    assert answer.status_code == 400
    assert said in html.unescape(answer.text)
    assert f'value="{form["name"]}"' in answer.text


async def test_other_organizations_and_other_buttons(gate, new_gate) -> None:
    person = gate.person()
    await person.post("/settings/groups", data={"name": "release"})
    assert "has no member" in (await person.get("/settings/groups/release")).text
    assert (await person.post("/settings/groups/release", data={"act": "dance"})).status_code == 400
    stranger = (await new_gate()).person()
    assert (await stranger.get("/settings/groups/release")).status_code == 404
    for act in ("save", "delete"):
        assert (await stranger.post("/settings/groups/release", data={"act": act, "version": "1"})).status_code == 404


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
async def test_only_administrators_change_groups(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    for path in ("/settings/groups", "/settings/groups/release"):
        assert (await person.get(path)).status_code == 403
        assert (await person.post(path, data={"name": "mine", "act": "delete"})).status_code == 403
