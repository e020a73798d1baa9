"""/admin/audit: what was recorded a moment ago is there, filtered, in either shape, and verifies."""

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headgate.agents.scopes import Scope
from headgate.audit.chain import genesis
from headgate.evidence.checkpoint import parse_checkpoint
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.note import parse_note, verify_note
from headgate.evidence.pack_verifier import tree_root
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role


@pytest.fixture
async def decided(gate) -> dict:
    """One action, held and approved."""
    held = (await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "rows", "params": {}})).json()
    await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "fine"})
    return held


async def test_an_action_leaves_its_events(gate, decided: dict) -> None:
    auditor = gate.person("olga", Role.AUDITOR)
    page = (await auditor.get("/admin/audit", params={"action_id": decided["id"]})).json()
    events = page["data"][::-1]
    assert [event["event_type"] for event in events] == [
        "action.submitted", "decision.made", "approval.requested", "approval.approved",
    ]  # fmt: skip
    assert page["pagination"] == {"total": 4, "limit": 50, "offset": 0, "next_cursor": None}
    for event in events:
        assert {"id", "event_type", "action_id", "agent_id", "data", "hash", "prev_hash", "created_at"} <= set(event)
        assert event["agent_id"] == gate.agent_id
        assert event["hash"].startswith("sha256:")
        assert len(event["hash"]) == 71
    assert events[0]["actor"] == {"type": "agent", "id": gate.agent_id, "name": "Robot", "address": "127.0.0.1"}
    assert (events[3]["actor"]["type"], events[3]["actor"]["name"]) == ("user", "alice@example.com")
    assert events[3]["data"]["comment"] == "fine"

    one = (await auditor.get(f"/admin/audit/{events[3]['id']}")).json()
    assert {name: one[name] for name in events[3]} == events[3]
    camel = (await auditor.get(f"/admin/audit/{events[3]['id']}?shape=camel")).json()
    assert camel == {
        "id": one["id"], "eventType": "approval.approved", "entityType": "approval",
        "entityId": decided["approval_id"], "actor": one["actor"], "metadata": one["data"], "hash": one["hash"],
        "prevHash": one["prev_hash"], "createdAt": one["created_at"],
    }  # fmt: skip
    listed = (await auditor.get("/admin/audit", params={"shape": "camel", "event_type": "approval.approved"})).json()
    assert listed == {"data": [camel], "pagination": {"total": 1, "page": 1, "pageSize": 50, "totalPages": 1}}


async def test_the_first_event_follows_genesis(gate, decided: dict) -> None:
    everything = (await gate.person().get("/admin/audit?limit=200")).json()["data"]
    assert everything[-1]["seq"] == 1
    assert [event["prev_hash"] for event in everything[:-1]] == [event["hash"] for event in everything[1:]]
    assert everything[-1]["prev_hash"] == "sha256:" + genesis(gate.org_id).hex()


async def test_filters(gate, decided: dict) -> None:
    admin, today = gate.person(), datetime.now(UTC).date()
    yesterday = today - timedelta(days=1)

    async def total(**query: str) -> int:
        answer = await admin.get("/admin/audit", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["pagination"]["total"]

    everything = await total()
    assert everything >= 6
    assert await total(risk_level="high") == 4
    assert await total(risk_level="low") == 0
    assert await total(agent_id=gate.agent_id, event_type="decision.made") == 1
    assert await total(agent_id=new_id(IdPrefix.AGENT)) == 0
    # A date alone is the whole day, at either end.
    assert await total(start_date=str(yesterday), end_date=str(today + timedelta(days=1))) == everything
    assert await total(end_date=str(yesterday)) == 0
    assert await total(start_date="2026-01-01T00:00:00+02:00") == everything
    answer = await admin.get("/admin/audit?start_date=2026-01-01T00:00:00+02:00")  # "+" not encoded
    assert answer.json()["pagination"]["total"] == everything


@pytest.mark.parametrize(
    "query",
    [
        "start_date=yesterday", "end_date=2026-13-01", "start_date=2026-02-02&end_date=2026-02-01",
        "start_date=0001-01-01T00:00:00%2B14:00", "event_type=x", "event_type=%00", "action_id=x", "agent_id=%00",
        "risk_level=huge", "cursor=x", "limit=201", "evnt_type=key.created", "tool=Mail", "operation=%00", "tool=",
        "decision=maybe", "search=ab", "search=abc&total=exact",
        "search=abc&offset=1", "search=abc&shape=camel&page=2", "agent=", "event_type=a.b&event_type=c.d",
        "start_date=", "start_date=2026-02-02T10:00:00Z&end_date=2026-02-02T09:59:59Z", "end_date=2026-02-02T25:00",
        "start_date=2026-02-02T10:00:00-02:00&end_date=2026-02-02T11:59:59", "cursor=5.0",
        "offset=-1", "shape=snake", "cursor=9999999999999999999", "event_type=decision.mad", "event_type=no.such",
    ],
)  # fmt: skip
async def test_bad_queries_are_refused(gate, query: str) -> None:
    answer = await gate.person().get(f"/admin/audit?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("event_type", "told"),
    [
        ("decision.mad", "did you mean decision.made"),
        ("approval.approve", "did you mean approval.approved"),
        ("zzzz.qqqq", "event types: action.submitted, decision.made, "),
    ],
)
async def test_an_event_type_that_does_not_exist_is_refused_with_those_that_do(
    gate, event_type: str, told: str
) -> None:
    """An empty list would say that it never happened."""
    for path in ("/admin/audit", "/admin/audit/export"):
        answer = await gate.person().get(path, params={"event_type": event_type})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["details"]["field"]) == (400, "VALIDATION_ERROR", "event_type")
        assert told in error["message"]


async def test_filters_of_an_events_action(gate, decided: dict) -> None:
    admin = gate.person()
    denied = (await gate.as_agent.post("/v1/actions", json={"tool": "wipe", "operation": "disk", "params": {}})).json()

    async def found(**query: str) -> set[str]:
        answer = await admin.get("/admin/audit", params=query)
        assert answer.status_code == 200, answer.text
        return {event["action_id"] for event in answer.json()["data"]}

    assert await found(tool="write") == {decided["id"]}
    assert await found(operation="disk") == {denied["id"]}
    assert await found(decision="deny") == {denied["id"]}
    assert await found(decision="require_approval") == {decided["id"]}
    assert await found(decision="allow") == set()
    assert await found(tool="write", operation="disk") == set()
    assert await found(agent="Robot", tool="write") == await found(agent=gate.agent_id, tool="write") == {decided["id"]}
    assert await found(agent="Nobody") == set()
    assert await found(search="FINE", action_id=decided["id"]) == {decided["id"]}
    assert await found(search="alice@example", event_type="approval.approved") == {decided["id"]}
    assert await found(search="100% elsewhere") == set()


@pytest.mark.parametrize("shape", [None, "camel"])
async def test_a_page_of_a_search_that_found_nothing_yet_says_so(
    gate, decided: dict, monkeypatch: pytest.MonkeyPatch, shape: str | None
) -> None:
    """Whatever the shape: "none" would be taken for the end of the search."""
    monkeypatch.setattr("headgate.audit.store.SEARCHED_EVENTS", 2)
    admin = gate.person()
    at_least, cursor = ("totalIsMinimum", "nextCursor") if shape else ("total_is_minimum", "next_cursor")
    query, pages, found = {"search": "alice@example", **({"shape": shape} if shape else {})}, [], []
    while not pages or pages[-1].get(cursor) is not None:
        asked = query | ({"cursor": pages[-1][cursor]} if pages else {})
        answer = (await admin.get("/admin/audit", params=asked)).json()
        pages.append(answer["pagination"])
        found += [one["id"] for one in answer["data"]]
    monkeypatch.undo()
    whole = (await admin.get("/admin/audit?search=alice@example")).json()["data"]
    assert found == [one["id"] for one in whole] != []
    assert all(one[at_least] for one in pages[:-1])
    assert at_least not in pages[-1]
    assert len(pages) > 1


async def test_one_event_can_be_checked_by_hand(gate, decided: dict) -> None:
    admin = gate.person()
    events = (await admin.get("/admin/audit?limit=200")).json()["data"]
    for number in (0, 1, len(events) - 1):
        event = (await admin.get(f"/admin/audit/{events[number]['id']}")).json()
        header, salt, payload = (event["hash_input"][name] for name in ("header", "salt", "payload"))
        assert event["hash"] == "sha256:" + hashlib.sha256(header.encode()).hexdigest()
        written = json.loads(header)
        digest = hashlib.sha256(bytes.fromhex(salt) + payload.encode()).hexdigest()
        assert written["payload_digest"] == f"sha256:{digest}"
        assert (written["seq"], written["prev_hash"]) == (event["seq"], event["prev_hash"])
        assert event["neighbours"] == {
            "previous": events[number + 1]["id"] if number + 1 < len(events) else None,
            "next": events[number - 1]["id"] if number else None,
        }
        assert (event["proof"], event["proof_missing"]) == (None, "no signed checkpoint covers it yet")


async def test_the_proof_holds_against_the_signed_checkpoint(gate, decided: dict, worker_database, tmp_path) -> None:
    keys = SigningKeySource(tmp_path / "keys")
    keys.create("test")
    checkpointer = Checkpointer(worker_database, keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)
    admin = gate.person()
    listed = (await admin.get("/admin/audit")).json()["data"]
    assert await checkpointer.checkpoint(gate.org_id)
    event = (await admin.get(f"/admin/audit/{listed[1]['id']}")).json()
    proof = event["proof"]
    note = parse_note(proof["checkpoint"])
    checkpoint = parse_checkpoint(note)
    verify_note(note, keys.load().verifier_keys(checkpoint.origin))
    leaf = leaf_hash(bytes.fromhex(event["hash"].removeprefix("sha256:")))
    path = [base64.b64decode(one) for one in proof["path"]]
    assert tree_root(leaf, proof["index"], proof["tree_size"], path, "the event") == checkpoint.root
    assert (proof["index"], event["proof_missing"]) == (event["seq"] - 1, None)


async def test_the_schemas_variant(gate, decided: dict) -> None:
    admin = gate.person()
    plain = (await admin.get("/admin/audit?limit=200")).json()["data"]
    listed = (await admin.get("/admin/audit?limit=200&shape=schema")).json()
    assert listed["pagination"]["total"] == len(plain)
    assert listed["data"][0] == {
        "id": plain[0]["id"], "event_type": plain[0]["event_type"], "actor": plain[0]["actor"],
        "payload": plain[0]["data"], "hash": plain[0]["hash"], "prev_hash": plain[0]["prev_hash"],
        "created_at": plain[0]["created_at"],
    }  # fmt: skip
    assert listed["data"][-1]["prev_hash"] is None
    assert (await admin.get(f"/admin/audit/{plain[0]['id']}?shape=schema")).json() == listed["data"][0]


async def test_verification_of_everything_and_of_a_range(gate, decided: dict) -> None:
    admin = gate.person()
    everything = (await admin.post("/admin/audit/verify")).json()
    events = (await admin.get("/admin/audit?limit=200")).json()["data"]
    assert everything == {
        "valid": True, "events_verified": len(events), "first_event": events[-1]["id"], "last_event": events[0]["id"],
        "chain_start_hash": events[-1]["hash"], "chain_end_hash": events[0]["hash"], "payloads_erased": 0,
        "checkpoints_verified": 0, "signed_up_to": None, "fault": None, "actions_reconciled": 1, "differences": [],
        "restores": [],
    }  # fmt: skip
    before = {"end_date": "2020-01-01"}
    nothing = (await admin.post("/admin/audit/verify", json=before)).json()
    assert (nothing["valid"], nothing["events_verified"], nothing["first_event"]) == (True, 0, None)
    today = {"start_date": str(datetime.now(UTC).date() - timedelta(days=1))}
    assert (await admin.post("/admin/audit/verify", json=today)).json() == everything
    widest = {"start_date": "0001-01-01", "end_date": "9999-12-31"}
    assert (await admin.post("/admin/audit/verify", json=widest)).json() == everything
    for bad in ({"start_date": "x"}, {"more": 1}, {"start_date": "2026-02-02", "end_date": "2026-02-01"}):
        assert (await admin.post("/admin/audit/verify", json=bad)).status_code == 400


async def test_verification_names_the_first_bad_event(
    gate, decided: dict, superuser: psycopg.Connection[tuple[object, ...]]
) -> None:
    admin = gate.person()
    third = (await admin.get("/admin/audit?limit=200")).json()["data"][-3]
    superuser.execute(
        "UPDATE audit_events SET payload = replace(payload, 'data', 'tada') WHERE org_id = %s AND seq >= 3",
        [gate.org_id],
    )
    result = (await admin.post("/admin/audit/verify")).json()
    assert (result["valid"], result["events_verified"], result["last_event"] is None) == (False, 2, False)
    assert result["fault"] == {
        "seq": 3, "event_id": third["id"], "reason": "payload_changed",
        "message": "the payload is not the one that was sealed",
    }  # fmt: skip


async def test_only_auditors_read_the_record(gate) -> None:
    for client in (
        gate.person("vera", Role.VIEWER),
        gate.person("ben", Role.APPROVER),
        await gate.key(Scope.ACTIONS_READ),
    ):
        for answer in (await client.get("/admin/audit"), await client.post("/admin/audit/verify")):
            assert answer.status_code == 403
            assert "audit:read" in answer.json()["error"]["message"]
    assert (await gate.as_agent.get("/admin/audit")).status_code == 403


async def test_another_organizations_event_does_not_exist(gate, new_gate, decided: dict) -> None:
    event = (await gate.person().get("/admin/audit")).json()["data"][0]
    stranger = (await new_gate()).person()
    assert (await stranger.get(f"/admin/audit/{event['id']}")).status_code == 404
    listed = (await stranger.get("/admin/audit", params={"action_id": decided["id"]})).json()
    assert listed["data"] == []


async def test_each_event_of_a_list_names_the_call_of_its_action(gate, decided: dict) -> None:
    listed = (await gate.person().get("/admin/audit")).json()["data"]
    calls = {(one["event_type"], one["call"]) for one in listed if one["action_id"] == decided["id"]}
    assert {("decision.made", "write.rows"), ("approval.requested", "write.rows")} <= calls
    assert {one["call"] for one in listed if one["action_id"] is None} == {None}
