"""/admin/settings/notifications and /admin/notifications: what is shown, what is kept, what is refused."""

import json

from headgate.organizations.model import Role

_MAIL = {
    "kind": "apprise",
    "url": "mailtos://user:hunter2@example.com?to=ada@example.com",
    "recipient": "ada@example.com",
}
_SLACK = {"kind": "slack", "channel": "C0123", "token": "xoxb-17", "signing_secret": "5ecret"}
_PATH = "/admin/settings/notifications"


async def test_never_set_says_that_nobody_is_told(gate) -> None:
    shown = (await gate.person().get(_PATH)).json()
    assert shown["channels"] == {}
    assert shown["warnings"] == ["no channel is enabled: nobody is notified of held actions"]


async def test_secrets_are_written_and_never_shown(gate, superuser) -> None:
    admin = gate.person()
    await gate.person("ada", Role.APPROVER).get("/v1/approvals")
    put = await admin.put(_PATH, json={"channels": {"mail": _MAIL, "chat": _SLACK}})
    assert put.status_code == 200
    shown = await admin.get(_PATH)
    assert shown.json() == put.json()
    channels = shown.json()["channels"]
    assert channels["mail"] == {
        "kind": "apprise", "enabled": True, "service": "mailtos", "recipient": "ada@example.com", "has_url": True,
    }  # fmt: skip
    assert (channels["chat"]["has_token"], channels["chat"]["has_signing_secret"]) == (True, True)
    assert channels["chat"]["interactivity_path"] == f"/webhooks/slack/{channels['chat']['connection_id']}"
    assert shown.json()["warnings"] == []
    stored = superuser.execute(
        "SELECT document FROM settings WHERE org_id = %(o)s UNION ALL SELECT document FROM setting_versions"
        " WHERE org_id = %(o)s UNION ALL SELECT payload FROM journal WHERE org_id = %(o)s"
        " UNION ALL SELECT payload FROM audit_events WHERE org_id = %(o)s",
        {"o": gate.org_id},
    ).fetchall()
    assert stored
    for secret in ("hunter2", "xoxb-17", "5ecret"):
        assert secret not in shown.text
        assert all(secret not in str(row[0]) for row in stored)


async def test_versions_are_kept_and_a_stale_change_is_refused(gate) -> None:
    admin = gate.person()
    first = await admin.put(_PATH, json={"channels": {"mail": _MAIL}})
    second = await admin.put(_PATH, json={"channels": {"mail": {"kind": "apprise", "enabled": False}}})
    assert second.json()["channels"]["mail"]["has_url"] is True
    stale = await admin.put(_PATH, json={"channels": {}}, headers={"If-Match": first.headers["etag"]})
    assert stale.status_code == 412
    versions = (await admin.get(f"{_PATH}/versions")).json()
    assert [one["version"] for one in versions["data"]] == [2, 1]
    assert versions["data"][1]["document"]["channels"]["mail"]["enabled"] is True


async def test_routes_that_leave_something_out_are_pointed_at(gate) -> None:
    document = {"channels": {"mail": _MAIL}, "routes": [{"channels": ["mail"], "risk_levels": ["critical"]}]}
    await gate.person("ada", Role.APPROVER).get("/v1/approvals")
    (warning,) = (await gate.person().put(_PATH, json=document)).json()["warnings"]
    assert "nobody is notified" in warning


async def test_a_recipient_whom_nobody_knows_is_pointed_at(gate) -> None:
    unknown = {"kind": "apprise", "url": "ntfy://topic", "recipient": "adda@example.com"}
    put = (await gate.person().put(_PATH, json={"channels": {"mail": unknown}})).json()
    assert put["warnings"] == [
        "channels.mail.recipient: adda@example.com is not exactly one member: its links cannot decide"
    ]
    assert (await gate.person().get(_PATH)).json()["warnings"] == put["warnings"]


async def test_a_test_message_is_a_delivery(gate) -> None:
    admin = gate.person()
    await admin.put(_PATH, json={"channels": {"mail": _MAIL}})
    sent = await admin.post(f"{_PATH}/test", json={"channel": "mail"})
    assert (sent.status_code, sent.json()["event"], sent.json()["target"]) == (202, "notification.test", "mail")
    listed = (await admin.get("/admin/notifications", params={"channel": "mail"})).json()["data"]
    assert [one["id"] for one in listed] == [sent.json()["id"]]
    assert (await admin.get(f"/admin/notifications/{sent.json()['id']}")).json() == listed[0]
    again = await admin.post(f"/admin/notifications/{sent.json()['id']}/redeliver")
    assert again.status_code == 409
    assert (await admin.post(f"{_PATH}/test", json={"channel": "absent"})).status_code == 404


async def test_what_is_refused_is_not_repeated(gate) -> None:
    refused = await gate.person().put(
        _PATH, json={"channels": {"a": {"kind": "apprise", "url": "exec://user:hunter2@host/"}}}
    )
    assert refused.status_code == 400
    assert "hunter2" not in refused.text


async def test_only_administrators_and_only_their_own(gate, new_gate) -> None:
    await gate.person().put(_PATH, json={"channels": {"mail": _MAIL}})

    assert (await gate.person("bob", Role.APPROVER).get(_PATH)).status_code == 403
    other = (await (await new_gate()).person().get(_PATH)).json()
    assert json.dumps(other["channels"]) == "{}"
