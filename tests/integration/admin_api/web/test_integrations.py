"""/settings/integrations: forms made from each platform's settings, secrets that never come back, and tests."""

import html

import pytest

from headgate.integrations.model import Integration
from headgate.organizations.model import Role

_PATH = "/settings/integrations"
_JIRA = {
    "act": "save",
    "enabled": "true",
    "base_url": "https://example.atlassian.net/",
    "email": "robot@example.com",
    "project_key": "OPS",
    "issue_type": "Task",
    "approve_statuses": "Approved\r\nDone",
    "deny_statuses": "Rejected",
    "risk_levels": ["high", "critical"],
    "people": "",
    "api_token": "token-that-stays-secret",
    "webhook_secret": "hook-that-stays-secret",
}


async def test_the_list_names_every_integration(gate) -> None:
    shown = (await gate.person().get(_PATH)).text
    for one in Integration:
        assert f'href="{_PATH}/{one}"' in shown
        assert (await gate.person().get(f"{_PATH}/{one}")).status_code == 200
    assert shown.count("Not set up") == len(Integration)
    assert (await gate.person().get(f"{_PATH}/carrier-pigeon")).status_code == 404


async def test_jira_from_its_form_to_its_secrets(gate) -> None:
    person, path = gate.person(), f"{_PATH}/jira"
    assert (await person.post(path, data=_JIRA)).headers["location"] == path
    kept = (await person.get("/admin/settings/jira")).json()
    assert kept["approve_statuses"] == ["Approved", "Done"]
    assert (kept["enabled"], kept["include_params"], kept["risk_levels"]) == (True, False, ["high", "critical"])
    assert (kept["has_api_token"], kept["has_webhook_secret"]) == (True, True)
    shown = (await person.get(path)).text
    assert "stays-secret" not in shown
    assert kept["webhook_path"] in shown
    form = {**_JIRA, "version": "1", "api_token": "", "webhook_secret": "", "issue_type": "Bug"}
    assert (await person.post(path, data=form)).status_code == 303
    kept = (await person.get("/admin/settings/jira")).json()
    assert (kept["issue_type"], kept["has_api_token"], kept["version"]) == ("Bug", True, 2)
    stale = await person.post(path, data=form | {"issue_type": "Story"})
    assert (stale.status_code, 'value="Story"' in stale.text) == (412, True)
    forgotten = form | {"version": "2", "enabled": [], "forget": ["api_token", "webhook_secret"]}
    assert (await person.post(path, data=forgotten)).status_code == 303
    kept = (await person.get("/admin/settings/jira")).json()
    assert (kept["enabled"], kept["has_api_token"]) == (False, False)
    assert "Version 3" in (await person.get(path)).text


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("jira", _JIRA | {"project_key": "not a key"}, "project_key"),
        ("jira", _JIRA | {"base_url": "ftp://x"}, "base_url"),
        ("jira", _JIRA | {"people": "no equals sign"}, "people"),
        ("jira", _JIRA | {"api_token": ""}, "api_token"),
        ("github-actions", {"act": "save", "bindings": "{"}, "JSON"),
        ("slack", {"act": "test"}, "is not configured"),
        ("slack", {"act": "dance"}, "Unknown action"),
    ],
)
async def test_a_refused_form_says_why_and_gives_no_secret_back(gate, name, form, said) -> None:
    answer = await gate.person().post(f"{_PATH}/{name}", data=form)
    assert 400 <= answer.status_code < 500
    shown = html.unescape(answer.text)
    assert said in shown.partition('role="alert"')[2][:600]
    assert "stays-secret" not in shown


async def test_the_test_says_why_the_platform_was_not_reached(gate) -> None:
    person, path = gate.person(), f"{_PATH}/jira"
    await person.post(path, data=_JIRA | {"base_url": "https://nowhere.invalid"})
    tested = await person.post(path, data={"act": "test"})
    assert tested.status_code == 200
    assert "The test failed" in tested.text


@pytest.mark.parametrize("role", [Role.APPROVER, Role.AUDITOR, Role.VIEWER])
async def test_only_administrators_see_integrations(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    for path in (_PATH, f"{_PATH}/jira"):
        assert (await person.get(path)).status_code == 403
    assert (await person.post(f"{_PATH}/jira", data=_JIRA)).status_code == 403
