"""/admin/traffic as it is asked: what is found, shown and exported, and what is recorded of that."""

import asyncio
import io
import json
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from mitmproxy.io import FlowReader

from headgate.agents.scopes import Scope
from headgate.db.database import Database
from headgate.organizations.model import Role
from headgate.traffic.model import Loss, Lost
from headgate.traffic.recording_store import record_losses
from tests.integration.admin_api.traffic.conftest import Keep

HOSTILE = "(a|aa)+$"


async def test_columns_are_filtered_and_pages_go_on(api: Any, keep: Keep, organization: Any) -> None:
    kept = await keep(
        organization,
        {"tool": "mail", "status": 200},
        {"tool": "github", "status": 500, "host": "api.github.com", "method": "PUT", "decision": "approved"},
        {"tool": "github", "status": 200, "host": "api.github.com", "method": "GET", "operation": "list"},
    )
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:

        async def ids(**filters: Any) -> list[str]:
            answer = await auditor.get("/admin/traffic", params=filters)
            assert answer.status_code == 200, answer.text
            return [one["id"] for one in answer.json()["data"]]

        all_of_them = [one.exchange_id for one in kept[::-1]]
        assert await ids() == all_of_them
        assert await ids(tool="github", status=500) == [kept[1].exchange_id]
        assert await ids(host="API.github.com", method="get") == [kept[2].exchange_id]
        assert await ids(operation="list") == await ids(agent_id=organization.agent_id, limit=1)
        assert await ids(decision="approved") == await ids(action_id=kept[1].action_id) == [kept[1].exchange_id]
        assert await ids(end_date=(datetime.now(UTC) - timedelta(hours=1)).isoformat()) == []
        first = (await auditor.get("/admin/traffic", params={"limit": 2})).json()
        assert first["pagination"]["total"] == 3
        rest = await ids(limit=2, cursor=first["pagination"]["next_cursor"])
        assert [one["id"] for one in first["data"]] + rest == all_of_them
        second = (await auditor.get("/admin/traffic", params={"pageSize": 2, "page": 2, "shape": "camel"})).json()
        assert [one["id"] for one in second["data"]] == all_of_them[2:]
        assert second["pagination"] == {"total": 3, "page": 2, "pageSize": 2, "totalPages": 2}
        for wrong in ({"decision": "maybe"}, {"status": 5}, {"agent_id": "x"}, {"start_date": "then"}):
            assert (await auditor.get("/admin/traffic", params=wrong)).status_code == 400


async def test_mitmproxys_filters_work_on_what_was_stored(api: Any, keep: Keep, organization: Any) -> None:
    kept = await keep(
        organization,
        {"body": b'{"order":"shoes"}', "method": "POST"},
        {"body": b'{"order":"hats"}', "status": 404, "path": "/orders?mail=eva.muster@example.com"},
    )
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        for expression, expected in (
            ("~bq shoes", {0}),
            ("~c 404", {1}),
            ("~m POST & ~bq order", {0, 1}),
            ("!~u orders", {0}),
            ("~hq content-type", {0, 1}),
            ("~q", set()),
            ("~bq eva.muster", set()),
        ):
            answer = (await auditor.get("/admin/traffic", params={"filter": expression})).json()
            found = {number for number, one in enumerate(kept) if one.exchange_id in str(answer["data"])}
            assert found == expected, expression
            assert answer["filtered_from"] == 2
        refused = await auditor.get("/admin/traffic", params={"filter": "~m ("})
        assert refused.status_code == 400
        camel = {"filter": "~m POST", "shape": "camel", "pageSize": 5}
        searched = (await auditor.get("/admin/traffic", params=camel)).json()["pagination"]
        assert searched == {"total": 2, "page": 1, "pageSize": 5, "totalPages": 1}
        for name, value in (("offset", "1"), ("page", "2"), ("total", "exact")):
            asked = await auditor.get("/admin/traffic", params={"filter": "~m POST", name: value})
            error = asked.json()["error"]
            assert (asked.status_code, name in error["message"]) == (400, True), name
        events = (await auditor.get("/admin/audit", params={"event_type": "traffic.read"})).json()["data"]
        assert {event["data"]["filter"] for event in events} >= {"~bq shoes", "~bq eva.muster"}


async def test_a_hostile_expression_costs_nothing(api: Any, keep: Keep, organization: Any) -> None:
    await keep(organization, {"body": b'"' + b"a" * 60 + b'b"', "content_type": b"text/plain"})
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        await auditor.get("/admin/traffic", params={"filter": "~m POST"})  # it has started
        began = time.monotonic()
        found = await auditor.get("/admin/traffic", params={"filter": f'~bq "{HOSTILE}"'})
        assert (found.status_code, found.json()["data"], time.monotonic() - began < 2) == (200, [], True)
        refused = await auditor.get("/admin/traffic", params={"filter": '~bq "a(?!b)"'})
        assert (refused.status_code, "is not one of RE2's" in refused.text) == (400, True)


async def test_a_late_answer_costs_its_deadline_and_nobody_else(
    api: Any, keep: Keep, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(organization, {})
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        await auditor.get("/admin/traffic", params={"filter": "~m POST"})  # it has started
        with monkeypatch.context() as late:
            late.setattr(api.dependencies.review, "_deadline_seconds", 0.0)
            refused = await auditor.get("/admin/traffic", params={"filter": "~m POST"})
        assert (refused.status_code, "took too long" in refused.text) == (400, True)
        again = await auditor.get("/admin/traffic", params={"filter": "~m POST"})
        assert len(again.json()["data"]) == 1


async def test_a_fourth_question_of_one_person_is_refused(
    api: Any, keep: Keep, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(organization, {})
    answering = asyncio.Event()

    async def answer(question: Any, field: str, deadline_seconds: float) -> dict[str, Any]:
        await answering.wait()
        return {"answer": []}

    monkeypatch.setattr(api.dependencies.review, "_answer", answer)
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        ask = partial(auditor.get, "/admin/traffic", params={"filter": "~m POST"})
        asked = [asyncio.ensure_future(ask()) for _ in range(4)]
        (refused,), _ = await asyncio.wait(asked, return_when="FIRST_COMPLETED", timeout=10)
        assert (refused.result().status_code, refused.result().headers["retry-after"]) == (429, "5")
        assert "wait for their answers" in refused.result().json()["error"]["message"]
        answering.set()
        assert sorted(one.status_code for one in await asyncio.gather(*asked)) == [200, 200, 200, 429]


async def test_one_is_shown_prettily_and_reading_it_is_recorded(api: Any, keep: Keep, organization: Any) -> None:
    (one,) = await keep(organization, {"body": b'{"mail":"eva.muster@example.com","n":[1,2]}'})
    address = f"/admin/traffic/{one.exchange_id}"
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        shown = (await auditor.get(address)).json()
        assert shown["request"]["body"]["view"] == "JSON"
        assert '"mail": "[masked]"' in shown["request"]["body"]["pretty"]
        assert ["Authorization", "[masked]"] in shown["request"]["headers"]
        assert shown["response"]["body"]["text"] == "hello"
        raw = (await auditor.get(address, params={"view": "none"})).json()
        assert raw["request"]["body"]["pretty"] is None
        assert (await auditor.get(address, params={"view": "wbxml"})).status_code == 400
        events = (await auditor.get("/admin/audit", params={"event_type": "traffic.read"})).json()["data"]
        assert [event["data"]["exchange_id"] for event in events] == [one.exchange_id] * 2
        assert events[0]["actor"]["type"] == "user"


async def test_exports_open_where_they_are_meant_to(api: Any, keep: Keep, organization: Any) -> None:
    kept = await keep(
        organization,
        {"body": b'{"note":"\'; touch /tmp/owned; \'"}', "path": "/a?token=abcdef"},
        {"answer": None, "error": "the connection was lost", "body": b"\x89PNG\x00\xff"},
    )
    ids = [one.exchange_id for one in kept]
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        file = await auditor.get("/admin/traffic/export", params={"format": "flow"})
        flows = list(FlowReader(io.BytesIO(file.content)).stream())
        assert [flow.id for flow in flows] == ids
        assert flows[0].request.get_text() == kept[0].request.body.decode()
        assert (flows[0].response.status_code, flows[0].request.path) == (200, "/a?token=[masked]")
        assert (flows[1].response, flows[1].error.msg) == (None, "the connection was lost")
        assert "not captured: request.body: not text" in flows[1].comment
        har = (await auditor.get("/admin/traffic/export", params={"ids": ids[0]})).json()
        (entry,) = har["log"]["entries"]
        assert (har["log"]["version"], entry["response"]["content"]["text"]) == ("1.2", "hello")
        assert entry["_headgate"]["action_id"] == kept[0].action_id
        for filters in ({"filter": "~m POST"}, {"host": "other.example"}, {"start_date": "2026-11-01"}):
            both = await auditor.get("/admin/traffic/export", params={"ids": ids[0], **filters})
            assert (both.status_code, both.json()["error"]["details"]["field"]) == (400, "ids"), filters
        curl = await auditor.get("/admin/traffic/export", params={"format": "curl", "ids": ids[0]})
        assert "token=<QUERY>" in curl.text
        assert "<AUTHORIZATION>" in curl.text
        nothing = await auditor.get("/admin/traffic/export", params={"tool": "none"})
        assert nothing.status_code == 404
        events = (await auditor.get("/admin/audit", params={"event_type": "traffic.exported"})).json()["data"]
        assert [(event["data"]["format"], event["data"]["exchanges"]) for event in events[::-1]] == [
            ("flow", ids),
            ("har", ids[:1]),
            ("curl", ids[:1]),
        ]


async def test_differences_and_the_line_of_time(
    api: Any, keep: Keep, organization: Any, proxy_database: Database
) -> None:
    kept = await keep(organization, {"body": b'{"a":1,"b":2}'}, {"body": b'{"b":3,"a":1}', "status": 500})
    at = datetime.now(UTC)
    async with proxy_database.across_organizations() as connection:
        await record_losses(connection, [Lost(organization.org_id, "x/1", Loss.SPOOL_FULL, 7, at, at)] * 2)
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        both = {"left": kept[0].exchange_id, "right": kept[1].exchange_id}
        found = (await auditor.get("/admin/traffic/diff", params=both)).json()
        assert '-  "b": 2' in found["request"]["body"]
        assert '+  "b": 3' in found["request"]["body"]
        assert found["request"]["head"] is None
        assert found["response"]["head"] == ["200 OK", "500 OK"]
        same = {"left": kept[0].exchange_id, "right": kept[0].exchange_id}
        assert (await auditor.get("/admin/traffic/diff", params=same)).json()["request"]["body"] is None
        line = (await auditor.get("/admin/traffic/timeline", params={"agent_id": organization.agent_id})).json()["data"]
        assert [one["exchange"] and one["exchange"]["id"] for one in line] == [
            kept[0].exchange_id,
            kept[1].exchange_id,
            None,
        ]
        assert [one["pause_seconds"] for one in line] == [None, 0.75, None]
        assert (line[2]["not_captured"]["cause"], line[2]["not_captured"]["exchanges"]) == ("spool_full", 7)
        listed = (await auditor.get("/admin/traffic")).json()
        assert [(one["cause"], one["exchanges"]) for one in listed["not_captured"]] == [("spool_full", 7)]


async def test_who_may(api: Any, keep: Keep, new_organization: Any) -> None:
    mine, other = new_organization(), new_organization()
    (one,) = await keep(mine, {})
    address = f"/admin/traffic/{one.exchange_id}"
    paths = ["/admin/traffic", address, f"/admin/traffic/export?ids={one.exchange_id}"]
    paths += [f"/admin/traffic/diff?left={one.exchange_id}&right={one.exchange_id}"]
    async with api.as_role(mine.org_id, Role.VIEWER) as viewer, api.as_role(other.org_id, Role.ADMIN) as stranger:
        for path in paths:
            refused = await viewer.get(path)
            assert (refused.status_code, "audit:read" in refused.text) == (403, True), path
            seen = await stranger.get(path)
            assert one.exchange_id not in json.dumps(seen.json().get("data", [])), path
            assert seen.status_code == (200 if path == "/admin/traffic" else 404), path
        assert (await stranger.delete(address)).status_code == 404
    _, key = await api.key(mine.org_id, Scope.ACTIONS_READ)
    async with api.client(Authorization=f"Bearer {key}") as program:
        assert (await program.get(address)).status_code == 403
    async with api.as_role(mine.org_id, Role.AUDITOR) as auditor:
        assert (await auditor.delete(address)).status_code == 403


async def test_a_filter_is_read_where_nothing_was_captured(api: Any, organization: Any) -> None:
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        for path in ("/admin/traffic", "/admin/traffic/export"):
            refused = await auditor.get(path, params={"filter": "("})
            assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "filter")
        assert (await auditor.get("/admin/traffic", params={"filter": "~m GET"})).json()["filtered_from"] == 0


async def test_erased_it_is_listed_and_says_nothing_any_more(api: Any, keep: Keep, organization: Any) -> None:
    (one,) = await keep(organization, {})
    address = f"/admin/traffic/{one.exchange_id}"
    async with api.as_admin(organization.org_id) as admin:
        assert (await admin.delete(address)).json()["deleted"] is True
        assert (await admin.delete(address)).json()["deleted"] is True
        assert (await admin.get(address)).status_code == 404
        (listed,) = (await admin.get("/admin/traffic")).json()["data"]
        assert (listed["target"], listed["erased_at"] is not None) == (None, True)
        assert (await admin.get("/admin/traffic", params={"filter": "~m POST"})).json()["data"] == []
        events = (await admin.get("/admin/audit", params={"event_type": "traffic.erased"})).json()["data"]
        assert [event["data"] for event in events] == [{"exchange_id": one.exchange_id}]


async def test_without_its_key_one_cannot_be_read_and_hides_no_others(
    api: Any, keep: Keep, organization: Any, superuser: Any
) -> None:
    lost, good = await keep(organization, {}, {})
    superuser.execute("UPDATE traffic_exchanges SET key_id = 'k0' WHERE exchange_id = %s", [lost.exchange_id])
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        assert (await auditor.get(f"/admin/traffic/{lost.exchange_id}")).status_code == 503
        found = (await auditor.get("/admin/traffic", params={"filter": "~m POST"})).json()
        assert [one["id"] for one in found["data"]] == [good.exchange_id]
        assert found["filtered_from"] == 2


async def test_the_rules_are_a_setting(api: Any, organization: Any) -> None:
    rules = {"rules": [{"tools": ["github"], "capture": "heads"}], "body_limit_bytes": 1000}
    address = "/admin/settings/captures"
    async with api.as_admin(organization.org_id) as admin:
        assert (await admin.get(address)).json() == {"rules": [], "body_limit_bytes": 65536}
        stored = await admin.put(address, json=rules)
        assert stored.json()["rules"][0] == {
            "agents": [], "tools": ["github"], "operations": [], "hosts": [], "capture": "heads",
        }  # fmt: skip
        assert (await admin.get(address)).json() == stored.json()
        refused = await admin.put(address, json={"rules": [{"capture": "all"}]})
        assert (refused.status_code, "rules[0].capture" in refused.text) == (400, True)
        refused = await admin.put(address, json={"rules": [{"capture": "off", "operations": ["a\0"]}]})
        assert (refused.status_code, "rules[0].operations[0]" in refused.text) == (400, True)
        (event,) = (await admin.get("/admin/audit", params={"event_type": "setting.changed"})).json()["data"]
        assert event["data"]["name"] == "captures"
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        assert (await auditor.put(address, json=rules)).status_code == 403


async def test_the_pages_show_exchanges_side_by_side_and_run_nothing(api: Any, keep: Keep, organization: Any) -> None:
    hostile = "<script>alert(1)</script>\u202e"
    (kept,) = await keep(organization, {"body": hostile.encode(), "method": "POST"})
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        listed = await auditor.get("/traffic")
        assert f'href="/traffic?exchange={kept.exchange_id}"' in listed.text
        assert "No exchanges match" in (await auditor.get("/traffic?filter=~bq+nothing-says-this")).text
        refused = await auditor.get("/traffic", params={"filter": "~m ("})
        assert (refused.status_code, "Headgate cannot show this page" in refused.text) == (400, True)
        shown = await auditor.get(f"/traffic/{kept.exchange_id}")
        assert (shown.status_code, "<script>alert" in shown.text, "\u202e" in shown.text) == (200, False, False)
        read = (await auditor.get("/admin/audit", params={"event_type": "traffic.read"})).json()["data"]
        assert [one["data"]["exchange_id"] for one in read if "exchange_id" in one["data"]] == [kept.exchange_id]
        assert (await auditor.post(f"/traffic/{kept.exchange_id}/erase")).status_code == 403
    async with api.as_role(organization.org_id, Role.ADMIN) as administrator:
        assert (await administrator.post(f"/traffic/{kept.exchange_id}/erase")).status_code == 303
        assert "(erased)" in (await administrator.get("/traffic")).text
    async with api.as_role(organization.org_id, Role.APPROVER) as approver:
        assert (await approver.get("/traffic")).status_code == 403
        assert (await approver.get(f"/traffic/{kept.exchange_id}")).status_code == 403


async def test_without_captures_the_page_teaches_the_next_step(api: Any, organization: Any) -> None:
    async with api.as_role(organization.org_id, Role.ADMIN) as administrator:
        assert '<a href="/settings/captures">Add a capture rule</a>' in (await administrator.get("/traffic")).text
    async with api.as_role(organization.org_id, Role.AUDITOR) as auditor:
        assert "An administrator adds the rules." in (await auditor.get("/traffic")).text
