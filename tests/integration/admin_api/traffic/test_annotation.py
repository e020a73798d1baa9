"""Notes and tags of captured exchanges: written, found, recorded, erased."""

from typing import Any

import pytest

from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202egpj.exe"


async def test_a_note_and_tags_are_written_found_recorded_and_erased(api: Any, keep: Any, organization: Any) -> None:
    first, second = [one.exchange_id for one in await keep(organization, {}, {})]
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:

        async def ids(**filters: str) -> list[str]:
            return [one["id"] for one in (await auditor.get("/admin/traffic", params=filters)).json()["data"]]

        body = {"note": " Looks like Exfiltration ", "tags": ["ticket-482", "exfiltration", "ticket-482"]}
        written = await auditor.put(f"/admin/traffic/{first}/annotation", json=body)
        assert written.status_code == 200, written.text
        assert written.json()["note"] == "Looks like Exfiltration"
        assert written.json()["tags"] == ["exfiltration", "ticket-482"]
        for filters in ({"tag": "ticket-482"}, {"note": "exfil"}, {"tag": "exfiltration", "note": "LIKE"}):
            assert await ids(**filters) == [first]
        assert await ids(tag="ticket") == await ids(note="%") == []
        assert await ids(tag="ticket-482", filter="~m POST | ~m GET") == [first]
        [event] = (await auditor.get("/admin/audit?event_type=traffic.annotated")).json()["data"]
        assert event["data"]["exchange_id"] == first
        assert event["data"]["tags"] == ["exfiltration", "ticket-482"]
        assert event["actor"]["type"] == "user"
        cleared = await auditor.put(f"/admin/traffic/{first}/annotation", json={})
        assert (cleared.json()["note"], cleared.json()["tags"]) == (None, [])
        assert await ids(tag="ticket-482") == []
        await auditor.put(f"/admin/traffic/{second}/annotation", json=body)
        async with api.as_role(organization.org_id, Role.ADMIN) as admin:
            assert (await admin.delete(f"/admin/traffic/{second}")).status_code == 200
        assert await ids(tag="ticket-482") == []
        gone = next(one for one in (await auditor.get("/admin/traffic")).json()["data"] if one["id"] == second)
        assert (gone["note"], gone["tags"]) == (None, [])
        assert (await auditor.put(f"/admin/traffic/{second}/annotation", json=body)).status_code == 409


@pytest.mark.parametrize(
    ("role", "body", "status"),
    [
        (Role.VIEWER, {"note": "x"}, 403),
        (Role.APPROVER, {"note": "x"}, 403),
        (Role.AUDITOR, {"note": "x" * 2_001}, 400),
        (Role.AUDITOR, {"note": "\0"}, 400),
        (Role.AUDITOR, {"tags": ["Upper"]}, 400),
        (Role.AUDITOR, {"tags": ["with space"]}, 400),
        (Role.AUDITOR, {"tags": [f"t{number}" for number in range(11)]}, 400),
        (Role.AUDITOR, {"unknown": 1}, 400),
    ],
)
async def test_what_is_refused_changes_nothing(
    api: Any, keep: Any, organization: Any, role: Role, body: dict[str, Any], status: int
) -> None:
    [one] = await keep(organization, {})
    async with api.as_role(organization.org_id, role) as person:
        answer = await person.put(f"/admin/traffic/{one.exchange_id}/annotation", json=body)
        assert answer.status_code == status, answer.text
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        assert (await auditor.get("/admin/traffic")).json()["data"][0]["note"] is None


async def test_the_pages_write_it_compare_and_show_hostile_text_as_text(api: Any, keep: Any, organization: Any) -> None:
    first, second = [
        one.exchange_id
        for one in await keep(
            organization,
            {"body": b'{"order":"shoes","n":1}', "method": "POST", "status": 200},
            {"body": b'{"order":"hats","n":1}', "method": "POST", "status": 500},
        )
    ]
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        page = f"/traffic/{first}"
        refused = await auditor.post(page, data={"note": "kept", "tags": "Not A Tag!"})
        assert refused.status_code == 400
        assert ">\nkept</textarea>" in refused.text
        assert 'value="Not A Tag!"' in refused.text
        done = await auditor.post(page, data={"note": _HOSTILE, "tags": "odd, strange"})
        assert (done.status_code, done.headers["location"]) == (303, page)
        for path in (page, "/traffic?tag=odd"):
            shown = (await auditor.get(path)).text
            assert 'role="alert"' not in shown
            assert "<script>alert" not in shown
            assert 'href="/traffic?tag=odd"' in shown
        assert "U+202E" in (await auditor.get("/traffic?note=script")).text
        assert f"/traffic/compare?a={second}&amp;b={first}" in (await auditor.get(page)).text
        both = (await auditor.get(f"/traffic/compare?a={first}&b={second}")).text
        assert "shoes" in both
        assert "hats" in both
        assert "200" in both
        same = (await auditor.get(f"/traffic/compare?a={first}&b={first}")).text
        assert same.count("No differences.") == 2
        for wrong in ("a=exc_x&b=exc_y", f"a={first}", f"a={first}&b=exc_00000000-0000-7000-8000-000000000000"):
            assert (await auditor.get(f"/traffic/compare?{wrong}")).status_code == 404
    async with api.as_role(organization.org_id, Role.APPROVER) as approver:
        assert (await approver.get(f"/traffic/compare?a={first}&b={second}")).status_code == 403
        assert (await approver.post(page, data={"note": "mine"})).status_code == 403
