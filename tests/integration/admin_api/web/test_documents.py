"""Execution limits, credentials, captures and the export to a SIEM: forms over documents, each with its version."""

import html

import pytest

from headgate.organizations.model import Role

_PATHS = ("/settings/executions", "/settings/credentials", "/settings/captures", "/settings/siem")
_HOSTILE = "<script>alert(1)</script>\u202e"


async def test_limits_are_saved_and_a_stale_page_is_refused(gate) -> None:
    person, path = gate.person(), "/settings/executions"
    assert 'name="most_attempts" value="3"' in (await person.get(path)).text
    assert (await person.post(path, data={"most_attempts": "5"})).status_code == 303
    kept = await person.get("/admin/settings/executions")
    assert (kept.json()["most_attempts"], kept.json()["timeout_seconds"]) == (5, 30)
    form = {"most_attempts": "6", "version": kept.headers["etag"]}
    assert (await person.post(path, data=form)).status_code == 303
    stale = await person.post(path, data=form)
    assert (stale.status_code, 'name="most_attempts" value="6"' in stale.text) == (412, True)
    for wrong in ("0", "many", "1000"):
        assert (await person.post(path, data={"most_attempts": wrong})).status_code == 400


async def test_a_credential_goes_in_and_never_comes_out(gate) -> None:
    person, path = gate.person(), "/settings/credentials"
    form = {"act": "set", "name": "github_token", "value": "ghp_stays-secret"}
    assert (await person.post(path, data=form)).status_code == 303
    shown = (await person.get(path)).text
    assert "github_token" in shown and "stays-secret" not in shown
    refused = await person.post(path, data=form | {"name": _HOSTILE})
    assert (refused.status_code, "stays-secret" in refused.text, "<script>alert" in refused.text) == (400, False, False)
    assert (await person.post(path, data={"act": "set", "name": "empty", "value": ""})).status_code == 400
    assert (await person.post(path, data={"act": "forget", "name": "github_token"})).status_code == 303
    assert (await person.get("/admin/settings/credentials")).json() == {"credentials": []}
    assert (await person.post(path, data={"act": "dance"})).status_code == 400


async def test_capture_rules_are_added_moved_and_removed(gate) -> None:
    person, path = gate.person(), "/settings/captures"
    assert "Nothing is captured" in (await person.get(path)).text

    async def post(**form: object) -> int:
        version = (await person.get("/admin/settings/captures")).headers.get("etag", "")
        return (await person.post(path, data={"version": version, **form})).status_code

    async def kept() -> list[str]:
        return [one["capture"] for one in (await person.get("/admin/settings/captures")).json()["rules"]]

    refused = await person.post(path, data={"version": "", "act": "add", "capture": "bodies", "tools": _HOSTILE})
    assert refused.status_code == 400 and "<script>alert" not in refused.text
    assert await post(act="add", capture="bodies", tools="github\r\nslack", hosts="*.example.com") == 303
    assert await post(act="add", capture="off", operations="login") == 303
    assert await kept() == ["bodies", "off"]
    shown = (await person.get(path)).text
    assert "<script>alert" not in shown and "*.example.com" in shown
    assert await post(act="up", number="2") == 303
    assert await kept() == ["off", "bodies"]
    assert await post(act="remove", number="1") == 303
    assert await kept() == ["bodies"]
    assert await post(act="limit", body_limit_bytes="1024") == 303
    assert (await person.get("/admin/settings/captures")).json()["body_limit_bytes"] == 1024
    for form in (
        {"act": "remove", "number": "9"},
        {"act": "up", "number": "-1"},
        {"act": "add", "capture": "everything"},
        {"act": "add", "capture": "bodies", "agents": "a name"},
        {"act": "limit", "body_limit_bytes": "0"},
        {"act": "dance"},
    ):
        assert await post(**form) == 400, form
    stale = await person.post(path, data={"act": "remove", "number": "1", "version": '"1"'})
    assert (stale.status_code, await kept()) == (412, ["bodies"])


async def test_a_destination_is_added_changed_and_removed(gate) -> None:
    person, path = gate.person(), "/settings/siem"
    new = {
        "act": "add",
        "name": "splunk",
        "address": "https://siem.example.com/ingest",
        "authorization": "Bearer stays-secret",
        "from": "now",
        "enabled": "true",
    }
    assert (await person.post(path, data=new)).status_code == 303
    answer = await person.get("/admin/settings/siem")
    assert answer.json()["destinations"]["splunk"]["has_authorization"] is True
    shown = (await person.get(path)).text
    assert "https://siem.example.com/ingest" in shown and "stays-secret" not in shown
    save = new | {"act": "save", "authorization": "", "enabled": [], "version": answer.headers["etag"]}
    assert (await person.post(path, data=save)).status_code == 303
    kept = (await person.get("/admin/settings/siem")).json()["destinations"]["splunk"]
    assert (kept["enabled"], kept["has_authorization"]) == (False, True)
    stale = await person.post(path, data=save)
    assert (stale.status_code, 'role="alert"' in stale.text) == (412, True)
    for form, status in (
        (new, 409),
        (new | {"name": "other", "address": "gopher://x"}, 400),
        (new | {"name": "Not a name"}, 400),
        (save | {"name": "nowhere"}, 404),
        ({"act": "dance", "name": "splunk"}, 400),
    ):
        refused = await person.post(path, data=form)
        assert (refused.status_code, "stays-secret" in html.unescape(refused.text)) == (status, False), form
    assert (await person.post(path, data={"act": "remove", "name": "splunk"})).status_code == 303
    assert (await person.get("/admin/settings/siem")).json() == {"destinations": {}}


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
@pytest.mark.parametrize("path", _PATHS)
async def test_only_administrators_see_them(gate, role: Role, path: str) -> None:
    person = gate.person(role.value, role)
    assert (await person.get(path)).status_code == 403
    assert (await person.post(path, data={"act": "add"})).status_code == 403
