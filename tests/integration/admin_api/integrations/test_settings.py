"""/admin/settings/{integration}: the same for every row of the table."""

import json
from typing import Any

import jsonschema
import pytest

from admin_api.app import create_app
from headgate.integrations.catalogue import SETTINGS
from headgate.integrations.form import members_of, parse_stored, record
from headgate.integrations.members import REQUIRED
from headgate.integrations.model import Integration
from headgate.organizations.model import Role

AGENT = "agt_01a1ff46-15a4-71f6-9fa2-f5e021e73f0d"
EXAMPLES: dict[Integration, dict[str, Any]] = {
    Integration.JIRA: {
        "base_url": "https://example.atlassian.net", "email": "gate@example.com", "project_key": "GATE",
        "approve_statuses": ["Approved"], "deny_statuses": ["Rejected"],
    },
    Integration.LINEAR: {"team_id": "9cfb482a-81e3-4154-b5b9-2c805e70a02d", "people": {}},
    Integration.SLACK: {"channel": "C0123"},
    Integration.TEAMS: {"risk_levels": ["critical"]},
    Integration.DISCORD: {"channel_id": "123456789012345678", "public_key": "ab" * 32},
    Integration.GITHUB_ACTIONS: {
        "issuer": "https://token.example.com",
        "bindings": [{"agent_id": AGENT, "repository": "example/*"}],
    },
    Integration.GITHUB: {"app_id": "12345", "agent_id": AGENT},
    Integration.SERVICENOW: {"base_url": "https://example.service-now.com", "username": "headgate"},
}  # fmt: skip
ALL = sorted(SETTINGS)


def _path(integration: Integration) -> str:
    return f"/admin/settings/{integration.value}"


def _example(integration: Integration, gate: Any) -> dict[str, Any]:
    """With an agent of this organization in the place of the example's."""
    example: dict[str, Any] = json.loads(json.dumps(EXAMPLES[integration]).replace(AGENT, gate.agent_id))
    return example


def document_of(integration: Integration, gate: Any) -> dict[str, Any]:
    secrets = {name: f"hunter2-{name}" for name in SETTINGS[integration].SECRETS}
    return {"enabled": True, **_example(integration, gate), **secrets}


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    paths: dict[str, Any] = create_app(None).openapi()["paths"]
    return paths


@pytest.mark.parametrize("integration", ALL)
async def test_set_and_shown_without_secrets(gate, superuser, described, integration: Integration) -> None:
    admin, path, document = gate.person(), _path(integration), document_of(integration, gate)
    operations = described[path]
    answer_schema = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    never = (await admin.get(path)).json()
    assert (never["configured"], never["enabled"], never["version"]) == (False, False, 0)
    jsonschema.validate(never, answer_schema)
    jsonschema.validate(document, operations["put"]["requestBody"]["content"]["application/json"]["schema"])
    put = await admin.put(path, json=document)
    assert put.status_code == 200, put.text
    shown = (await admin.get(path)).json()
    assert shown == put.json()
    jsonschema.validate(shown, answer_schema)
    assert shown.items() >= _example(integration, gate).items()
    assert all(shown[f"has_{name}"] is True for name in SETTINGS[integration].SECRETS)
    assert shown["webhook_path"].startswith(f"/webhooks/{integration.value}/con_")
    assert shown["updated_by"].startswith("usr_")
    kept = superuser.execute(
        "SELECT document FROM settings WHERE org_id = %(o)s UNION ALL SELECT document FROM setting_versions"
        " WHERE org_id = %(o)s UNION ALL SELECT payload FROM journal WHERE org_id = %(o)s"
        " UNION ALL SELECT payload FROM audit_events WHERE org_id = %(o)s"
        " UNION ALL SELECT encode(ciphertext, 'escape') FROM vault_secrets WHERE org_id = %(o)s",
        {"o": gate.org_id},
    ).fetchall()
    assert len(kept) > len(SETTINGS[integration].SECRETS)
    assert all("hunter2" not in text for text in [put.text, json.dumps(shown), *(str(row[0]) for row in kept)])
    assert sum("setting.changed" not in str(row[0]) and integration.value in str(row[0]) for row in kept)


@pytest.mark.parametrize("integration", ALL)
async def test_versions_say_who_and_a_stale_change_is_refused(gate, integration: Integration) -> None:
    admin, path, document = gate.person(), _path(integration), document_of(integration, gate)
    first = await admin.put(path, json=document)
    second = await admin.put(path, json={**document, "enabled": False}, headers={"If-Match": first.headers["etag"]})
    assert (second.status_code, second.json()["version"]) == (200, 2)
    stale = await admin.put(path, json=document, headers={"If-Match": first.headers["etag"]})
    assert stale.status_code == 412
    assert (await admin.get(path)).json()["version"] == 2
    listed = (await admin.get(f"{path}/versions")).json()
    assert [one["version"] for one in listed["data"]] == [2, 1]
    assert [one["document"]["enabled"] for one in listed["data"]] == [False, True]
    assert all(one["updated_by"].startswith("usr_") for one in listed["data"])
    audit = (await admin.get("/admin/audit", params={"event_type": "setting.changed"})).json()["data"]
    assert [one["data"]["name"] for one in audit] == [integration.value] * 2
    assert audit[-1]["data"]["secrets_changed"] == sorted(SETTINGS[integration].SECRETS)


@pytest.mark.parametrize("integration", ALL)
async def test_secrets_stay_go_and_do_not_follow_another_address(gate, integration: Integration) -> None:
    admin, path, cls = gate.person(), _path(integration), SETTINGS[integration]
    await admin.put(path, json=document_of(integration, gate))
    without = {"enabled": True, **_example(integration, gate)}
    stayed = (await admin.put(path, json=without)).json()
    assert all(stayed[f"has_{name}"] for name in cls.SECRETS)
    for name, one in members_of(cls).items():
        if one.is_destination and cls.SECRETS:
            moved = await admin.put(path, json={**without, name: "https://elsewhere.example"})
            assert (moved.status_code, name in moved.json()["error"]["message"]) == (400, True)
    forgotten = await admin.put(path, json={**without, "enabled": False, **dict.fromkeys(cls.SECRETS)})
    assert not any(forgotten.json()[f"has_{name}"] for name in cls.SECRETS)
    for name in cls.SECRETS:
        missing = await admin.put(path, json={**document_of(integration, gate), name: None})
        assert (missing.status_code, missing.json()["error"]["details"]["field"]) == (400, name)


@pytest.mark.parametrize("integration", ALL)
async def test_what_is_refused_is_named_and_not_repeated(gate, integration: Integration) -> None:
    admin, path, cls = gate.person(), _path(integration), SETTINGS[integration]
    document = document_of(integration, gate)
    cases: list[tuple[Any, str]] = [
        ({**document, "unknown": 1}, "unknown"),
        ({**document, "enabled": "yes"}, "enabled"),
        *(({**document, name: 17}, name) for name in cls.SECRETS),
        *(({**document, name: "s" * 16_385}, name) for name in cls.SECRETS),
        *(({**document, name: [[]]}, name) for name in members_of(cls)),
        *(
            ({key: value for key, value in document.items() if key != name}, name)
            for name, one in members_of(cls).items()
            if one.default is REQUIRED
        ),
    ]
    for body, field in cases:
        refused = await admin.put(path, json=body)
        assert refused.status_code == 400, (field, refused.text)
        assert refused.json()["error"]["details"]["field"].split(".")[0].split("[")[0] == field, refused.text
        assert "hunter2" not in refused.text
    for body in (b"[]", b"{", b'{"enabled":true,"enabled":false}', b"[" * 10_000):
        assert (await admin.put(path, content=body)).status_code == 400
    assert (await admin.get(path)).json()["configured"] is False


@pytest.mark.parametrize("integration", ALL)
async def test_only_administrators_and_only_their_own(gate, new_gate, integration: Integration) -> None:
    path, document = _path(integration), document_of(integration, gate)
    mine = (await gate.person().put(path, json=document)).json()
    approver = gate.person("bob", Role.APPROVER)
    for answer in (
        await approver.get(path),
        await approver.put(path, json=document),
        await approver.post(f"{path}/test"),
    ):
        assert answer.status_code == 403
        assert "admin:*" in answer.json()["error"]["message"]
    elsewhere = await new_gate()
    other, document = elsewhere.person(), document_of(integration, elsewhere)
    assert (await other.get(path)).json()["configured"] is False
    assert (await other.get(f"{path}/receipts")).json() == {"data": []}
    theirs = (await other.put(path, json=document)).json()
    assert theirs["webhook_path"] != mine["webhook_path"]
    assert (await gate.person().get(path)).json() == mine


@pytest.mark.parametrize("integration", ALL)
def test_defaults_are_of_their_kind(integration: Integration) -> None:
    for name, one in members_of(SETTINGS[integration]).items():
        if one.default is not REQUIRED and one.default is not None:
            assert one.kind.check(one.kind.show(one.default)) == one.default, name
    assert set(record(parse_stored(SETTINGS[integration], {}))) == set(members_of(SETTINGS[integration]))


@pytest.mark.parametrize("integration", ALL)
async def test_whom_settings_name_is_of_this_organization(gate, new_gate, integration: Integration) -> None:
    elsewhere, admin, path = await new_gate(), gate.person(), _path(integration)
    await elsewhere.person("ada").get("/admin/settings/allowlist")
    (stranger, *_) = (await elsewhere.person("ada").get("/admin/users")).json()["data"]
    document, field = document_of(integration, elsewhere), {"github": "agent_id", "github-actions": "bindings"}
    named = field.get(integration.value, "people")
    if named == "people":
        document |= {"people": {"account": stranger["id"]}}
    refused = await admin.put(path, json=document)
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, named)
    assert (await elsewhere.person().put(path, json=document)).status_code == 200


@pytest.mark.parametrize("name", ["jira", "servicenow"])
async def test_the_connection_of_an_integration_that_is_not_complete_cannot_be_tested(gate, name: str) -> None:
    admin, path = gate.person(), f"/admin/settings/{name}"
    assert (await admin.put(path, json={"enabled": False})).status_code == 200
    tested = await admin.post(f"{path}/test")
    assert (tested.status_code, tested.json()["error"]["details"]["field"]) == (400, "base_url")
