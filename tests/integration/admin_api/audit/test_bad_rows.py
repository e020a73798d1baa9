"""Rows of the record that the database's owner wrote past our code: each is shown as what it is, and hides no other."""

import csv
import io
from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

from headgate.organizations.model import Role

type Superuser = psycopg.Connection[tuple[object, ...]]

_TIMES = {
    "infinity": "infinity",
    "-infinity": "-infinity",
    "0044-03-15 12:00 BC": "a time before the year 1",
    "20000-01-01": "a time after the year 9999",
}
_PAYLOADS = {
    "not JSON": "no JSON at all",
    "without an actor": '{"data":{}}',
    "an actor of another kind": '{"actor":{"type":["user"],"id":1},"data":{}}',
    "data that are a list": '{"actor":{"type":"system","id":"headgate"},"data":[]}',
    "half of a pair": r'{"actor":{"type":"system","id":"headgate"},"data":{"n":"\ud800"}}',
    "a number that is none": '{"actor":{"type":"system","id":"headgate"},"data":{"n":NaN}}',
}


@pytest.fixture
async def change(gate, superuser: Superuser) -> Callable[[str, str], str]:
    """Gives a column of the second of several events a value; returns that event's id."""
    for number in range(4):
        await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "rows", "params": {"n": number}})
    newest = (await gate.person().get("/admin/audit?limit=1")).json()["data"][0]["seq"]
    assert newest >= 8

    def set_to(column: str, value: str) -> str:
        statement = sql.SQL("UPDATE audit_events SET {} = %s WHERE org_id = %s AND seq = 2 RETURNING event_id")
        row = superuser.execute(statement.format(sql.Identifier(column)), [value, gate.org_id]).fetchone()
        assert row is not None
        return str(row[0])

    return set_to


@pytest.mark.parametrize("column", ["created_at", "sealed_at"])
@pytest.mark.parametrize("time", list(_TIMES))
async def test_an_impossible_time_is_named_and_hides_nothing(gate, change, column: str, time: str) -> None:
    auditor = gate.person("olga", Role.AUDITOR)
    before = (await auditor.get("/admin/audit?limit=200")).json()["data"]
    event_id = change(column, time)
    answer = await auditor.get("/admin/audit?limit=200")
    assert answer.status_code == 200, answer.text
    # Whoever looks is an event too.
    listed = {one["seq"]: one for one in answer.json()["data"]}
    for was in before:
        now = listed[was["seq"]]
        if was["id"] == event_id:
            assert now["problem"].startswith(f"{column} was sealed as ")
            assert now["problem"].endswith(f'and now is "{_TIMES[time]}"')
            # Shown as it was sealed: the header says it.
            assert {**now, "problem": None} == was
        else:
            assert now == was
    for shape in ("schema", "camel"):
        assert (await auditor.get(f"/admin/audit?shape={shape}")).status_code == 200
    assert (await auditor.get(f"/admin/audit/{event_id}")).json()["problem"] == listed[2]["problem"]
    exported = await auditor.get("/admin/audit/export?format=csv")
    (row,) = [one for one in csv.DictReader(io.StringIO(exported.text)) if one["id"] == event_id]
    assert row["problem"] == listed[2]["problem"]
    assert (await auditor.get("/admin/audit/export")).text.count("\n") >= len(before)


@pytest.mark.parametrize("kind", list(_PAYLOADS))
async def test_a_payload_that_nobody_can_read_hides_nothing(gate, change, kind: str) -> None:
    auditor = gate.person("olga", Role.AUDITOR)
    event_id = change("payload", _PAYLOADS[kind])
    answer = await auditor.get("/admin/audit?limit=200")
    assert answer.status_code == 200, answer.text
    events = answer.json()["data"]
    assert [one["seq"] for one in events] == [*range(len(events), 0, -1)]
    bad = [one for one in events if one["problem"] is not None]
    assert [(one["id"], one["actor"], one["data"]) for one in bad] == [(event_id, None, {})]
    assert bad[0]["problem"] == "the payload is not the one that was sealed"
    for path in (f"/admin/audit/{event_id}", "/admin/audit?shape=camel", "/admin/audit/export?format=csv"):
        assert (await auditor.get(path)).status_code == 200


async def test_a_header_and_a_time_that_say_nothing_are_null(gate, change, superuser: Superuser) -> None:
    event_id = change("created_at", "infinity")
    superuser.execute("UPDATE audit_chain SET header = '{}' WHERE org_id = %s AND seq = 2", [gate.org_id])
    answer = await gate.person("olga", Role.AUDITOR).get("/admin/audit?limit=200")
    assert answer.status_code == 200, answer.text
    (bad,) = [one for one in answer.json()["data"] if one["problem"] is not None]
    assert (bad["id"], bad["created_at"], bad["problem"]) == (
        event_id, None, "the header is not the one that was hashed",
    )  # fmt: skip


async def test_an_event_behind_the_end_stays_one_when_the_chain_grows_past_it(gate, change, superuser) -> None:
    auditor = gate.person("olga", Role.AUDITOR)
    change("agent_id", gate.agent_id)  # as it is: nothing changes
    newest = (await auditor.get("/admin/audit?limit=1")).json()["data"][0]["seq"]
    superuser.execute(
        "INSERT INTO audit_events SELECT org_id, %s, 'evt_00000000-0000-7000-8000-000000000000', event_type, action_id,"
        " agent_id, created_at, sealed_at, salt, payload FROM audit_events WHERE org_id = %s AND seq = %s",
        [newest + 3, gate.org_id, newest],
    )
    for number in range(3):
        await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "rows", "params": {"n": number}})
    events = (await auditor.get("/admin/audit?limit=200")).json()["data"]
    inserted = [one for one in events if one["problem"] is not None]
    assert [one["id"] for one in inserted] == ["evt_00000000-0000-7000-8000-000000000000"]
    assert 'and now is "evt_00000000-' in inserted[0]["problem"]
    assert len({one["id"] for one in events}) == len(events)
