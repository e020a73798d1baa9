"""The page of reports: asked for, refused, removed; by whom."""

import html

import pytest

from headgate.organizations.model import Role


async def test_a_report_is_asked_for_and_removed(gate) -> None:
    person = gate.person()
    assert "No reports yet" in (await person.get("/reports")).text
    done = await person.post("/reports", data={"type": "access", "format": "csv", "start_date": "2026-01-01"})
    assert (done.status_code, done.headers["location"]) == (303, "/reports")
    (report,) = (await person.get("/admin/audit/reports")).json()["data"]
    assert (report["type"], report["format"], report["start_date"]) == ("access", "csv", "2026-01-01T00:00:00Z")
    assert f"/reports/{report['id']}/delete" in (await person.get("/reports")).text
    assert (await person.post(f"/reports/{report['id']}/delete")).status_code == 303
    assert (await person.post(f"/reports/{report['id']}/delete")).status_code == 404


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"type": "gossip", "format": "pdf"}, "type: "),
        ({"type": "access", "format": "pdf", "start_date": "soon"}, "start_date"),
        (
            {"type": "access", "format": "pdf", "start_date": "2026-02-01", "end_date": "2026-01-01"},
            "end_date is before",
        ),
    ],
)
async def test_a_form_that_is_wrong_says_where(gate, form: dict[str, str], words: str) -> None:
    answer = await gate.person().post("/reports", data=form)
    assert answer.status_code == 400
    assert words in html.unescape(answer.text)
    assert not (await gate.person().get("/admin/audit/reports")).json()["data"]


@pytest.mark.parametrize(("role", "status"), [(Role.AUDITOR, 200), (Role.APPROVER, 403), (Role.VIEWER, 403)])
async def test_role_by_role(gate, role: Role, status: int) -> None:
    answer = await gate.person(role.value, role).get("/reports")
    assert answer.status_code == status
    if status == 200:
        await gate.person().post("/reports", data={"type": "access", "format": "csv"})
        assert "Delete report" not in (await gate.person(role.value, role).get("/reports")).text
