"""Checkpoints, keys and proof packs over the API, from a real record; packs are checked as a stranger would."""

import asyncio
import base64
import json
import zipfile
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest

from headgate.agents.scopes import Scope
from headgate.evidence.checkpoint import parse_checkpoint
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.merkle import verify_consistency
from headgate.evidence.note import parse_note, parse_verifier_key
from headgate.evidence.pack_verifier import parse_key, verify_pack
from headgate.evidence.signed_memory import SignedMemory
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import NotFoundError
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role

_REGO = """package own

allow if input.tool == "read"

require_approval if input.tool == "write"

deny contains "never" if input.tool == "wipe"
"""


@pytest.fixture
async def checkpointer(gate, worker_database, tmp_path: Path) -> Checkpointer:
    """Signs with the key that the API publishes; nothing is signed until the test says so."""
    keys = gate.api.settings.evidence_keys
    keys.create("log.example")
    made = Checkpointer(worker_database, keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)
    created = await gate.person().post("/admin/policies", json={"name": "own", "rego_policy": _REGO, "priority": 50})
    assert created.status_code == 201, created.text
    return made


async def _act(gate, tool: str) -> dict:
    answer = await gate.as_agent.post("/v1/actions", json={"tool": tool, "operation": "rows", "params": {"n": 1}})
    return answer.json()


async def _sign(gate, checkpointer: Checkpointer) -> None:
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    assert await checkpointer.checkpoint(gate.org_id)


async def _pack(gate, action_id: str) -> bytes:
    answer = await gate.person("olga", Role.AUDITOR).get(f"/admin/audit/actions/{action_id}/proof-pack")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == f'attachment; filename="{action_id}.zip"'
    return answer.content


async def _published(gate) -> dict:
    answer = await gate.client().get("/.well-known/headgate-keys", params={"organization": gate.org_id})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _keys(gate) -> list:
    published = await _published(gate)
    return [parse_key(one["vkey"]) for one in published["keys"]]


@pytest.mark.parametrize(("tool", "status"), [("read", "allowed"), ("wipe", "denied"), ("unknown", "denied")])
async def test_the_pack_of_a_plain_action_is_small_and_verifies(gate, checkpointer, tool: str, status: str) -> None:
    action = await _act(gate, tool)
    await _sign(gate, checkpointer)
    content = await _pack(gate, action["id"])
    report = verify_pack(content, await _keys(gate))
    assert (report["action_id"], report["status"], report["tool"]) == (action["id"], status, tool)
    assert len(content) < 10_240
    members = zipfile.ZipFile(BytesIO(content))
    assert {"action.json", "decision.json", "events.json", "policy.rego", "verification.json"} <= set(
        members.namelist()
    )
    assert "approval.json" not in members.namelist()
    policy = members.read("policy.rego").decode()
    assert policy == _REGO if tool != "unknown" else policy.startswith("# No policy spoke")
    assert json.loads(members.read("request.json"))["params"] == {"n": 1}
    stored = (await gate.person().get(f"/v1/actions/{action['id']}")).json()
    assert json.loads(members.read("action.json"))["status"] == stored["status"]


async def test_an_approval_and_who_gave_it_are_in_the_pack(gate, checkpointer) -> None:
    held = await _act(gate, "write")
    await gate.person().post(f"/v1/approvals/{held['approval_id']}/approve", json={"comment": "fine"})
    await _sign(gate, checkpointer)
    content = await _pack(gate, held["id"])
    assert verify_pack(content, await _keys(gate))["status"] == "approved"
    approval = json.loads(zipfile.ZipFile(BytesIO(content)).read("approval.json"))
    assert (approval["status"], approval["approval_id"]) == ("approved", held["approval_id"])
    assert approval["history"][-1]["actor"]["name"] == "alice@example.com"


async def test_a_pack_stays_the_same_and_each_look_at_it_is_recorded(gate, checkpointer) -> None:
    action = await _act(gate, "read")
    await _sign(gate, checkpointer)
    first = await _pack(gate, action["id"])
    await _act(gate, "read")
    await _sign(gate, checkpointer)
    assert await _pack(gate, action["id"]) == first
    looked = (await gate.person().get("/admin/audit?event_type=proof_pack.exported")).json()["data"]
    assert [one["data"]["action_id"] for one in looked] == [action["id"]] * 2
    assert looked[0]["actor"]["name"] == "olga@example.com"


async def test_an_action_of_just_now_waits_for_its_checkpoint(gate, checkpointer) -> None:
    action = await _act(gate, "read")
    asking = asyncio.create_task(_pack(gate, action["id"]))
    await asyncio.sleep(0.5)
    assert not asking.done()
    await _sign(gate, checkpointer)
    assert verify_pack(await asking, await _keys(gate))["valid"]


async def test_why_nothing_is_signed_is_said(gate, checkpointer) -> None:
    action = await _act(gate, "read")
    await _sign(gate, checkpointer)
    checkpointer.keys.file.unlink()
    after = await _act(gate, "read")
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    assert not await checkpointer.checkpoint(gate.org_id)
    listed = (await gate.person().get("/admin/audit/checkpoints")).json()
    assert "the signing key is missing" in listed["problem"]
    assert listed["problem_since"] is not None
    assert await _pack(gate, action["id"])
    refused = await gate.person().get(f"/admin/audit/actions/{after['id']}/proof-pack")
    assert refused.status_code == 503
    assert "the signing key is missing" in refused.json()["error"]["message"]
    assert (await gate.client().get("/.well-known/headgate-keys")).status_code == 503


async def test_a_body_that_was_put_away_and_is_gone_refuses_the_pack(gate, checkpointer, superuser) -> None:
    action = await _act(gate, "read")
    await _sign(gate, checkpointer)
    superuser.execute(
        "UPDATE actions SET body_state = 'kept', request = body_stub('kept') WHERE org_id = %s AND action_id = %s",
        [gate.org_id, action["id"]],
    )
    assert (await gate.person().post("/admin/audit/verify")).json()["valid"], "verifying opens no body"
    refused = await gate.person().get(f"/admin/audit/actions/{action['id']}/proof-pack")
    assert refused.status_code == 503
    assert "the stored bodies of the action are missing" in refused.json()["error"]["message"]


async def test_checkpoints_are_listed_and_shown_to_be_consistent(gate, checkpointer) -> None:
    for _ in range(3):
        await _act(gate, "read")
        await _sign(gate, checkpointer)
    auditor = gate.person("olga", Role.AUDITOR)
    listed = (await auditor.get("/admin/audit/checkpoints")).json()["data"]
    assert len(listed) == 3
    page = (await auditor.get(f"/admin/audit/checkpoints?after={listed[0]['size']}&limit=1")).json()["data"]
    assert page == [listed[1]]
    newest = (await auditor.get("/admin/audit/checkpoints?latest=true")).json()
    assert (newest["data"], newest["tree_size"]) == ([listed[2]], listed[2]["size"])
    between = {"first": listed[0]["size"], "second": listed[2]["size"]}
    answer = (await auditor.get("/admin/audit/consistency", params=between)).json()
    old, new = (parse_checkpoint(parse_note(answer[name]["note"])) for name in ("first", "second"))
    verify_consistency(
        old_size=old.size, old_root=old.root, new_size=new.size, new_root=new.root,
        path=[base64.b64decode(one) for one in answer["path"]],
    )  # fmt: skip
    assert old.origin == f"log.example/{gate.org_id}"
    assert (await auditor.get("/admin/audit/consistency?first=5&second=4")).status_code == 400
    assert (await auditor.get("/admin/audit/consistency?first=1&second=999")).status_code == 404


async def test_keys_are_public_and_those_of_before_a_rotation_stay(gate, checkpointer) -> None:
    before = await _published(gate)
    checkpointer.keys.rotate()
    after = await _published(gate)
    assert [one["status"] for one in after["keys"]] == ["current", "signing"]
    assert after["keys"][1]["vkey"] == before["keys"][0]["vkey"]
    assert parse_verifier_key(before["keys"][0]["vkey"]).name == before["log"] == f"log.example/{gate.org_id}"
    action = await _act(gate, "read")
    await _sign(gate, checkpointer)
    pack = await _pack(gate, action["id"])
    for one in after["keys"]:
        assert verify_pack(pack, [parse_key(one["vkey"])])["valid"]
    named = zipfile.ZipFile(BytesIO(pack)).read("keys.txt").decode().split()
    assert named == [one["vkey"] for one in after["keys"]]


async def test_each_log_has_keys_of_its_own_name(gate, checkpointer, new_gate) -> None:
    """C2SP signed-note: a verifier key opens notes of its own name only."""
    own = (await gate.person("olga", Role.AUDITOR).get("/admin/audit/keys")).json()
    assert own == await _published(gate)
    others = (await gate.client().get("/.well-known/headgate-keys")).json()
    assert others["log"] == f"log.example/{DEFAULT_ORGANIZATION_ID}"
    assert others["keys"][0]["public_key"] == own["keys"][0]["public_key"]
    assert others["keys"][0]["key_id"] != own["keys"][0]["key_id"]
    await _act(gate, "read")
    await _sign(gate, checkpointer)
    (point,) = (await gate.person().get("/admin/audit/checkpoints")).json()["data"]
    (signature,) = parse_note(point["note"]).signatures
    assert (signature.name, signature.key_id.hex()) == (own["log"], own["keys"][0]["key_id"])
    assert (await gate.client().get("/.well-known/headgate-keys?organization=x")).status_code == 400


async def test_a_key_is_retired_by_what_was_printed_of_it(gate, checkpointer) -> None:
    before = (await _published(gate))["keys"][0]
    checkpointer.keys.rotate()
    checkpointer.keys.retire(before["vkey"])
    assert [one["status"] for one in (await _published(gate))["keys"]] == ["current", "retired"]
    with pytest.raises(NotFoundError):
        checkpointer.keys.retire(before["vkey"])


async def test_who_may_not_read_the_record_gets_no_pack_and_others_actions_are_unknown(
    gate, checkpointer, new_gate
) -> None:
    action = await _act(gate, "read")
    await _sign(gate, checkpointer)
    path = f"/admin/audit/actions/{action['id']}/proof-pack"
    assert (await (await gate.key(Scope.POLICIES_READ)).get(path)).status_code == 403
    assert (await gate.as_agent.get(path)).status_code == 403
    assert (await (await new_gate()).person().get(path)).status_code == 404
    assert (await gate.person().get("/admin/audit/actions/nonsense/proof-pack")).status_code == 404
