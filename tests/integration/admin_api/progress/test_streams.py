"""GET /admin/progress/events: which background work has moved, for each by their rights."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from admin_api import live_stream
from headgate.agents.scopes import Scope
from headgate.deliveries.model import DeliveryStatus, TargetKind
from headgate.deliveries.store import end_delivery, get_delivery
from headgate.kernel.clock import system_clock
from headgate.organizations.model import Role
from headgate.queue.model import JobReference
from headgate.reports.make_report import MakeReport
from tests.integration.admin_api.event_stream import event_stream

_ADDRESS = "/admin/progress/events"
_CALL = {"tool": "write", "operation": "line", "params": {}}


@asynccontextmanager
async def _kinds(person):
    """What each event names, one after the other."""
    async with asyncio.timeout(30), person.stream("GET", _ADDRESS) as stream:
        assert stream.status_code == 200

        async def named():
            async for one in event_stream(stream):
                if one.get("event") == "progress":
                    yield set(one["data"]["of"])

        yield named()


async def _until(events, kind: str) -> None:
    while kind not in await anext(events):
        pass


@pytest.mark.parametrize(
    ("role", "kinds"),
    [
        (Role.VIEWER, {"replays"}),
        (Role.AUDITOR, {"replays", "reports", "verification"}),
        (Role.ADMIN, {"replays", "reports", "verification", "deliveries", "siem"}),
    ],
)
async def test_the_first_event_names_what_the_viewer_may_see(gate, role, kinds) -> None:
    async with _kinds(gate.person("one", role)) as first, _kinds(gate.person("two", role)) as second:
        assert await anext(first) == kinds
        assert await anext(second) == kinds


async def test_who_may_not(gate) -> None:
    assert (await gate.client().get(_ADDRESS)).status_code == 401
    assert (await gate.as_agent.get(_ADDRESS)).status_code == 403
    assert (await (await gate.key(Scope.AUDIT_READ)).get(_ADDRESS)).status_code == 403


async def test_a_report_from_its_request_to_its_deletion(gate, worker_database) -> None:
    auditor = gate.person("carol", Role.AUDITOR)
    async with _kinds(auditor) as events:
        await anext(events)
        asked = (await auditor.post("/admin/audit/reports", json={"type": "compliance", "format": "json"})).json()
        assert await anext(events) == {"reports"}
        await MakeReport(worker_database, system_clock, None).run(JobReference(gate.org_id, asked["id"], 1))
        assert await anext(events) == {"reports"}
        assert (await gate.person().delete(f"/admin/audit/reports/{asked['id']}")).is_success
        assert await anext(events) == {"reports"}


async def test_a_verification(gate) -> None:
    auditor = gate.person("carol", Role.AUDITOR)
    async with _kinds(auditor) as events:
        await anext(events)
        assert (await auditor.post("/admin/audit/verification")).status_code == 202
        assert await anext(events) == {"verification"}


async def test_a_delivery_that_begins_ends_and_is_sent_again(gate) -> None:
    admin = gate.person()
    made = (await admin.post("/admin/webhooks", json={"url": "https://hooks.example.com/x"})).json()["id"]
    async with _kinds(admin) as events:
        await anext(events)
        told = (await admin.post(f"/admin/webhooks/{made}/test")).json()["id"]
        await _until(events, "deliveries")

        async def end(connection) -> None:
            delivery = await get_delivery(connection, gate.org_id, TargetKind.WEBHOOK, told)
            await end_delivery(connection, delivery, DeliveryStatus.DELIVERED, system_clock())

        await gate.api.in_transaction(gate.org_id, end)
        await _until(events, "deliveries")
        again = await admin.post(f"/admin/webhooks/{made}/deliveries/{told}/redeliver")
        assert again.is_success, again.text
        await gate.api.in_transaction(gate.org_id, end)
        await _until(events, "deliveries")


async def test_the_lag_of_a_siem_grows_with_the_log(gate) -> None:
    admin = gate.person()
    async with _kinds(admin) as events:
        await anext(events)
        await admin.put("/admin/settings/siem", json={"destinations": {"logs": {"address": "https://siem.example/x"}}})
        await _until(events, "siem")
        assert (await gate.as_agent.post("/v1/actions", json=_CALL)).status_code == 202
        await _until(events, "siem")


async def test_what_another_organization_does_is_not_told(gate, new_gate) -> None:
    other = await new_gate()
    async with _kinds(gate.person("carol", Role.AUDITOR)) as events:
        await anext(events)
        auditor = other.person("eve", Role.AUDITOR)
        assert (await auditor.post("/admin/audit/reports", json={"type": "compliance"})).status_code == 202
        await gate.person("carol", Role.AUDITOR).post("/admin/audit/verification")
        assert await anext(events) == {"verification"}


async def test_who_loses_a_right_loses_the_stream(gate, monkeypatch) -> None:
    """A key hears of what an administrator sees until its owner is none."""
    monkeypatch.setattr(live_stream, "_ASK_AGAIN_SECONDS", 0.2)
    user = (await gate.person("eve", Role.ADMIN).get("/auth/session")).json()["user_id"]
    of_eve = await gate.key(Scope.ADMIN, user_id=user)
    await asyncio.sleep(1.1)  # the newest token counts, by its second
    async with _kinds(of_eve) as events:
        assert "siem" in await anext(events)
        assert (await gate.person("eve", Role.VIEWER).get("/auth/session")).is_success
        assert [one async for one in events if "siem" in one] == []
    async with _kinds(of_eve) as events:
        assert await anext(events) == {"replays"}
