"""/admin/audit/reports: asked for, listed, taken, deleted; and what of it is on record."""

import asyncio
from hashlib import sha256

import pytest

from headgate.agents.scopes import Scope
from headgate.kernel.clock import system_clock
from headgate.organizations.model import Role
from headgate.queue.model import JobReference
from headgate.reports.make_report import MakeReport

_PATH = "/admin/audit/reports"


@pytest.fixture
def make(worker_database):
    async def made(org_id: str, report_id: str) -> None:
        await MakeReport(worker_database, system_clock, None).run(JobReference(org_id, report_id, 1))

    return made


async def test_the_specifications_example_is_answered_made_and_taken(gate, make) -> None:
    auditor = gate.person("carol", Role.AUDITOR)
    body = {
        "type": "compliance", "start_date": "2026-01-01", "end_date": "2099-12-31", "format": "pdf",
        "include": ["actions", "approvals", "denials", "risk_summary"],
    }  # fmt: skip
    answer = await auditor.post(_PATH, json=body)
    asked = answer.json()
    assert (answer.status_code, asked["status"], asked["progress"]["percent"]) == (202, "queued", 0)
    assert answer.headers["location"] == f"{_PATH}/{asked['id']}"
    assert (asked["include"], asked["download_url"]) == (["actions", "approvals", "denials", "risk_summary"], None)
    early = await auditor.get(f"{_PATH}/{asked['id']}/download")
    assert (early.status_code, early.json()["error"]["code"]) == (409, "CONFLICT")

    await make(gate.org_id, asked["id"])
    report = (await auditor.get(f"{_PATH}/{asked['id']}")).json()
    assert (report["status"], report["progress"]["percent"]) == ("ready", 100)
    file = await auditor.get(report["download_url"])
    assert file.headers["content-type"] == "application/pdf"
    assert file.headers["content-disposition"].startswith('attachment; filename="headgate-compliance-20260101-')
    assert f"sha256:{sha256(file.content).hexdigest()}" == report["sha256"]
    assert len(file.content) == report["size_bytes"]

    events = (await gate.person().get("/admin/audit", params={"limit": 100})).json()["data"]
    told = [one for one in events if one["event_type"].startswith("report.")]
    assert [one["event_type"] for one in told] == ["report.downloaded", "report.made", "report.requested"]
    assert told[0]["data"]["sha256"] == report["sha256"]
    assert told[0]["actor"]["type"] == "user"


async def test_large_files_come_in_pieces_and_whole(gate, make, superuser) -> None:
    admin = gate.person()
    await asyncio.gather(
        *(gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "x", "params": {}}) for _ in range(3))
    )
    asked = (await admin.post(_PATH, json={"type": "activity", "format": "json", "include": ["events"]})).json()
    await make(gate.org_id, asked["id"])
    content = b"x" * 700_001
    superuser.execute("DELETE FROM report_pieces WHERE report_id = %s", [asked["id"]])
    for number, piece in enumerate((content[:524_288], content[524_288:])):
        superuser.execute(
            "INSERT INTO report_pieces VALUES (%s, %s, %s, %s)", [gate.org_id, asked["id"], number, piece]
        )
    superuser.execute("UPDATE reports SET size_bytes = 700001 WHERE report_id = %s", [asked["id"]])
    assert (await admin.get(f"{_PATH}/{asked['id']}/download")).content == content


async def test_listed_by_type_and_status_and_deleted(gate) -> None:
    admin, auditor = gate.person(), gate.person("carol", Role.AUDITOR)
    first = (await auditor.post(_PATH, json={"type": "access", "format": "csv"})).json()
    second = (await auditor.post(_PATH, json={"type": "activity", "format": "html"})).json()
    assert [one["id"] for one in (await auditor.get(_PATH)).json()["data"]] == [second["id"], first["id"]]
    assert [one["id"] for one in (await auditor.get(_PATH, params={"type": "access"})).json()["data"]] == [first["id"]]
    assert (await auditor.get(_PATH, params={"status": "ready"})).json()["data"] == []
    assert (await auditor.delete(f"{_PATH}/{first['id']}")).status_code == 403
    assert (await admin.delete(f"{_PATH}/{first['id']}")).json() == {"id": first["id"], "deleted": True}
    assert (await auditor.get(f"{_PATH}/{first['id']}")).status_code == 404
    assert (await admin.delete(f"{_PATH}/{first['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": "everything"}, "type"),
        ({"format": "docx"}, "format"),
        ({"include": ["actions", "secrets"]}, "include"),
        ({"start_date": "2026-02-01", "end_date": "2026-01-31"}, "end_date"),
        ({"start_date": "2999-01-01"}, "start_date"),
        ({"start_date": "yesterday"}, "start_date"),
        ({"colour": "red"}, "colour"),
        ({"checkpoint_size": 0}, "checkpoint_size"),
    ],
)
async def test_what_is_not_understood_is_refused_by_its_name(gate, change, field: str) -> None:
    answer = await gate.person().post(_PATH, json={"type": "compliance", **change})
    assert answer.status_code == 400
    assert field in answer.text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"start_date": "2026-03-01"}, "2026-03-01T00:00:00Z"),
        ({"start_date": "2026-03-01T10:00:00"}, "2026-03-01T10:00:00Z"),
        ({"start_date": "2026-03-01T10:00:00+02:00"}, "2026-03-01T08:00:00Z"),
        ({}, None),
    ],
)
async def test_times_with_and_without_a_zone(gate, written, meant: str | None) -> None:
    answer = (await gate.person().post(_PATH, json={"type": "access", **written})).json()
    assert answer["start_date"] == meant
    assert answer["end_date"] is not None


async def test_a_checkpoint_that_is_not_there(gate) -> None:
    answer = await gate.person().post(_PATH, json={"type": "access", "checkpoint_size": 12})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_only_who_may_read_the_record(gate) -> None:
    viewer, policies = gate.person("vera", Role.VIEWER), await gate.key(Scope.POLICIES_READ)
    for client in (viewer, policies):
        answer = await client.post(_PATH, json={"type": "access"})
        assert (answer.status_code, answer.json()["error"]["details"]["missing_scope"]) == (403, "audit:read")
    assert (await gate.as_agent.get(_PATH)).status_code == 403
