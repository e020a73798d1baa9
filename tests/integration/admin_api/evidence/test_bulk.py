"""``headgate audit export`` against a running API: the actions of a range, and no others."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from headgate.cli.api_client import ApiClient
from headgate.cli.audit_export import actions_between, fetch_packs, inspect, write_folder
from headgate.cli.target import Target
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.pack_verifier import parse_key
from headgate.evidence.signed_memory import SignedMemory
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role


async def test_every_action_of_a_range_is_taken_and_proves_itself(gate, worker_database, tmp_path: Path) -> None:
    keys = gate.api.settings.evidence_keys
    keys.create("log.example")
    rego = 'package own\n\nallow if input.tool == "read"\n'
    made = await gate.person().post("/admin/policies", json={"name": "own", "rego_policy": rego, "priority": 50})
    assert made.status_code == 201
    expected = []
    for number in range(3):
        body = {"tool": "read", "operation": "rows", "params": {"n": number}}
        expected.append((await gate.as_agent.post("/v1/actions", json=body)).json())
    await apply_before_reading(gate.api.dependencies.database, gate.org_id)
    checkpointer = Checkpointer(worker_database, keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)
    assert await checkpointer.checkpoint(gate.org_id)
    client = ApiClient(Target(gate.api.url, Secret(gate.api.token(gate.org_id, Role.AUDITOR))))
    seen: list[int] = []

    def export() -> int:
        wanted = actions_between(client, expected[1]["created_at"], None)
        return write_folder(fetch_packs(client, wanted, seen.append), tmp_path / "packs", {"from": None, "to": None})

    assert await asyncio.to_thread(export) == 2
    assert await asyncio.to_thread(actions_between, client, None, "2020-01-01") == []
    absent = new_id(IdPrefix.ACTION)
    with pytest.raises(UnavailableError, match=f"no proof pack of {absent}, so the export is incomplete: .+"):
        await asyncio.to_thread(list, fetch_packs(client, [absent], lambda events: None))
    assert seen == [1, 1]
    found = list(inspect(tmp_path / "packs", [parse_key(keys.load().verifier_keys("log.example")[0].text)]))
    assert sorted(one.report["action_id"] for one in found if one.report) == sorted(one["id"] for one in expected[1:])
