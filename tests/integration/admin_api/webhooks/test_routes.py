"""/admin/webhooks: endpoints, their secrets, who may see them, and what is refused."""

import pytest
from standardwebhooks.webhooks import Webhook

from headgate.agents.scopes import KeyKind, Scope

_BODY = {"url": "https://hooks.example.com/headgate", "description": "the on-call bot"}


async def test_made_shown_changed_and_deleted(gate) -> None:
    admin = gate.person()
    made = (await admin.post("/admin/webhooks", json=_BODY)).json()
    assert made["id"].startswith("whk_")
    Webhook(made["secret"])  # the published library takes it
    assert made["events"] == [
        "approval.created", "approval.approved", "approval.denied", "approval.expired", "approval.escalated",
    ]  # fmt: skip
    shown = (await admin.get(f"/admin/webhooks/{made['id']}")).json()
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    changed = await admin.patch(
        f"/admin/webhooks/{made['id']}", json={"events": ["execution.failed"], "enabled": False, "description": None}
    )
    assert (changed.json()["events"], changed.json()["enabled"], changed.json()["description"]) == (
        ["execution.failed"], False, None,
    )  # fmt: skip
    assert changed.json()["url"] == _BODY["url"]
    assert (await admin.get("/admin/webhooks")).json()["pagination"]["total"] == 1
    assert (await admin.delete(f"/admin/webhooks/{made['id']}")).json() == {"id": made["id"], "deleted": True}
    assert (await admin.get(f"/admin/webhooks/{made['id']}")).status_code == 404
    assert (await admin.get("/admin/webhooks")).json()["data"] == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "ftp://example.com/"}, "url"),
        ({"url": "https://user:password@example.com/"}, "url"),
        ({"url": "https://example.com/#x"}, "url"),
        ({"url": "https://example.com:25/"}, "url"),
        ({"events": ["approval.invented"]}, "events"),
        ({"events": []}, "events"),
        ({"description": "x" * 1025}, "description"),
        ({"secret": "whsec_mine"}, "secret"),
    ],
)
async def test_refused(gate, change: dict[str, object], field: str) -> None:
    answer = await gate.person().post("/admin/webhooks", json=_BODY | change)
    assert answer.status_code == 400
    assert field in answer.text


async def test_a_rotation_shows_a_new_secret_and_says_until_when_both_sign(gate) -> None:
    admin = gate.person()
    made = (await admin.post("/admin/webhooks", json=_BODY)).json()
    rotated = (await admin.post(f"/admin/webhooks/{made['id']}/rotate-secret", json={"overlap_seconds": 60})).json()
    assert rotated["secret"] != made["secret"]
    assert rotated["previous_secret_until"] is not None
    at_once = (await admin.post(f"/admin/webhooks/{made['id']}/rotate-secret", json={"overlap_seconds": 0})).json()
    assert at_once["previous_secret_until"] is None


async def test_a_test_is_a_delivery_and_may_be_sent_again_once_it_has_ended(gate) -> None:
    admin = gate.person()
    made = (await admin.post("/admin/webhooks", json=_BODY)).json()
    sent = await admin.post(f"/admin/webhooks/{made['id']}/test")
    assert (sent.status_code, sent.json()["event"], sent.json()["status"]) == (202, "webhook.test", "pending")
    path = f"/admin/webhooks/{made['id']}/deliveries"
    (listed,) = (await admin.get(path, params={"status": "pending", "event": "webhook.test"})).json()["data"]
    assert (await admin.get(f"{path}/{listed['id']}")).json() == listed == sent.json()
    assert (await admin.get(path, params={"status": "parked"})).json()["data"] == []
    for subject_id in ("anything", "agt_01938a5e-7c00-7000-8000-000000000001", "act_1"):
        for listing in (path, "/admin/notifications"):
            assert (await admin.get(listing, params={"subject_id": subject_id})).status_code == 400
    for prefix in ("", "apr_", "act_", "inv_"):
        unknown = {"subject_id": f"{prefix}01938a5e-7c00-7000-8000-000000000001"}
        assert (await admin.get(path, params=unknown)).json()["data"] == []
    again = await admin.post(f"{path}/{listed['id']}/redeliver")
    assert (again.status_code, again.json()["error"]["details"]["status"]) == (409, "pending")
    other = (await admin.post("/admin/webhooks", json=_BODY)).json()
    foreign = f"/admin/webhooks/{other['id']}/deliveries/{listed['id']}"
    assert (await admin.get(foreign)).status_code == (await admin.post(f"{foreign}/redeliver")).status_code == 404


async def test_a_webhook_key_reads_and_does_nothing_else(gate) -> None:
    admin = gate.person()
    made = (await admin.post("/admin/webhooks", json=_BODY)).json()
    _, key = await gate.api.key(gate.org_id, kind=KeyKind.WEBHOOK)
    reader = gate.client(Authorization=f"Bearer {key}")
    for path in ("", f"/{made['id']}", f"/{made['id']}/deliveries"):
        assert (await reader.get(f"/admin/webhooks{path}")).status_code == 200
    refused = [
        await reader.post("/admin/webhooks", json=_BODY),
        await reader.delete(f"/admin/webhooks/{made['id']}"),
        await reader.post(f"/admin/webhooks/{made['id']}/rotate-secret"),
        await reader.post(f"/admin/webhooks/{made['id']}/test"),
        await reader.get("/admin/agents"),
        await reader.get("/v1/approvals"),
    ]
    assert {one.status_code for one in refused} == {403}
    other = await gate.key(Scope.APPROVALS_READ)
    assert (await other.get("/admin/webhooks")).status_code == 403


async def test_another_organizations_endpoint_is_not_there(gate, new_gate) -> None:
    made = (await gate.person().post("/admin/webhooks", json=_BODY)).json()
    stranger = (await new_gate()).person()
    for answer in (
        await stranger.get(f"/admin/webhooks/{made['id']}"),
        await stranger.patch(f"/admin/webhooks/{made['id']}", json={"enabled": False}),
        await stranger.delete(f"/admin/webhooks/{made['id']}"),
        await stranger.post(f"/admin/webhooks/{made['id']}/test"),
        await stranger.get(f"/admin/webhooks/{made['id']}/deliveries"),
    ):
        assert answer.status_code == 404
