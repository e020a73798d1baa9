"""Many changes as one: all hold from the same moment on, or none does."""

import asyncio
from typing import Any

import httpx
import pytest

from headgate.agents.scopes import Scope
from headgate.policies import change_set, trial
from tests.integration.admin_api.conftest import Gate

_MODULE = "package lib.names\n\nis_known(name, known) if name in known\n"
_USES = "package mine\n\nimport data.lib.names\n\nallow if names.is_known(input.params.name, data.limits.known)\n"
_BAD = "package bad\n\nallow if {\n"


def _create(name: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"change": "create_policy", "policy": {"name": name, "rego_policy": text, "priority": 50, **fields}}


_TOGETHER = [
    _create("Mine", _USES),  # before what it needs: they are checked as they will be together
    {"change": "put_module", "path": "names", "content": _MODULE},
    {"change": "put_data", "path": "limits", "document": {"known": ["ann"]}},
]


async def _changed(admin: httpx.AsyncClient, changes: list[dict[str, Any]], **more: Any) -> httpx.Response:
    return await admin.post("/admin/policies/changes", json={"changes": changes, **more})


async def _everything(admin: httpx.AsyncClient) -> dict[str, Any]:
    return {
        path: (await admin.get(path)).json()["data"]
        for path in ("/admin/policies", "/admin/policies/data", "/admin/policies/modules")
    }


async def _decided(gate: Gate, name: str) -> str:
    action = {"tool": "greet", "operation": "go", "params": {"name": name}}
    return str((await gate.as_agent.post("/v1/actions", json=action)).json()["status"])


async def test_what_needs_each_other_comes_together(gate: Gate) -> None:
    admin = gate.person()
    answer = await _changed(admin, _TOGETHER, change_note="a set")
    assert answer.status_code == 200, answer.text
    created, module, document = answer.json()["changes"]
    assert (created["version"], module["policy_id"], document["version"]) == (1, None, 1)
    assert (await _decided(gate, "ann"), await _decided(gate, "bob")) == ("allowed", "denied")

    policy_id = created["policy_id"]
    versions = (await admin.get(f"/admin/policies/{policy_id}/versions")).json()["data"]
    assert [one["change_note"] for one in versions] == ["a set"]
    again = [
        {"change": "update_policy", "policy_id": policy_id, "policy": {"priority": 40, "version": 1}},
        {"change": "put_data", "path": "limits", "document": {"known": ["bob"]}},
    ]
    assert [one["version"] for one in (await _changed(admin, again)).json()["changes"]] == [2, 2]
    assert (await _decided(gate, "ann"), await _decided(gate, "bob")) == ("denied", "allowed")
    gone = [
        {"change": "delete_module", "path": "names"},
        {"change": "delete_policy", "policy_id": policy_id, "version": 2},
        {"change": "delete_data", "path": "limits"},
    ]
    assert (await _changed(admin, gone)).status_code == 200
    assert await _decided(gate, "bob") == "denied"


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (_create("Bad", _BAD), 400),
        (_create("Needs more", 'package more\n\nimport data.lib.absent\n\nallow if absent.f("x")\n'), 400),
        ({"change": "put_module", "path": "odd", "content": "package lib.other\n\nx := 1\n"}, 400),
        ({"change": "put_data", "path": "limits.known", "document": 1}, 400),
        ({"change": "delete_data", "path": "absent"}, 404),
        ({"change": "update_policy", "policy_id": "pol_01a1fe83-e4ed-74e0-ba68-56317268d2a3", "policy": {}}, 404),
        ({"change": "put_data", "path": "lib", "document": 1}, 400),
        ({"change": "rename_policy", "policy_id": "x"}, 400),
    ],
)
async def test_the_last_that_is_refused_refuses_all(gate: Gate, last: dict[str, Any], status: int) -> None:
    admin = gate.person()
    before = await _everything(admin)
    answer = await _changed(admin, [*_TOGETHER, last])

    assert answer.status_code == status, answer.text
    assert await _everything(admin) == before


async def test_a_refusal_says_which_and_where(gate: Gate) -> None:
    error = (await _changed(gate.person(), [*_TOGETHER, _create("Bad", _BAD)])).json()["error"]

    assert (error["details"]["change"], error["details"]["line"]) == (3, 4)


async def test_a_rehearsal_answers_the_same_and_leaves_nothing(gate: Gate) -> None:
    admin = gate.person()
    before = await _everything(admin)
    events = (await admin.get("/admin/audit")).json()["pagination"]["total"]
    answer = (await _changed(admin, _TOGETHER, dry_run=True)).json()

    assert (answer["dry_run"], [one["version"] for one in answer["changes"]]) == (True, [1, 1, 1])
    assert await _everything(admin) == before
    assert (await admin.get("/admin/audit")).json()["pagination"]["total"] == events
    assert (await _changed(admin, [*_TOGETHER, _create("Bad", _BAD)], dry_run=True)).status_code == 400


async def test_a_policy_that_stays_must_go_on_working(gate: Gate) -> None:
    admin = gate.person()
    await _changed(admin, _TOGETHER)
    refused = await _changed(admin, [{"change": "delete_module", "path": "names"}])

    assert refused.status_code == 400
    assert '"Mine" would stop working' in refused.json()["error"]["message"]


async def test_what_somebody_else_saved_is_not_overwritten(gate: Gate) -> None:
    admin = gate.person()
    policy_id = (await _changed(admin, _TOGETHER)).json()["changes"][0]["policy_id"]
    await admin.patch(f"/admin/policies/{policy_id}", json={"priority": 3})
    late = {"change": "update_policy", "policy_id": policy_id, "policy": {"priority": 9, "version": 1}}

    assert (await _changed(admin, [late])).status_code == 409
    twice = [{**late, "policy": {"priority": 9}}, {"change": "delete_policy", "policy_id": policy_id}]
    assert (await _changed(admin, twice)).status_code == 400


async def test_sets_at_the_same_moment_do_not_mix(gate: Gate) -> None:
    admin = gate.person()
    await _changed(admin, _TOGETHER)

    def both(name: str) -> list[dict[str, Any]]:
        return [{"change": "put_data", "path": path, "document": {"known": [name]}} for path in ("limits", "others")]

    answers = await asyncio.gather(*(_changed(admin, both(f"n{number}")) for number in range(4)))
    assert {one.status_code for one in answers} <= {200, 409}
    assert any(one.status_code == 200 for one in answers)
    limits, others = [(await admin.get(f"/admin/policies/data/{path}")).json() for path in ("limits", "others")]
    assert limits == others


async def test_who_only_reads_changes_nothing(gate: Gate) -> None:

    reader = await gate.key(Scope.POLICIES_READ)
    assert (await _changed(reader, _TOGETHER)).status_code == 403


async def test_all_changes_are_tried_in_one_child(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """One child for each took 0.1 s: 2,000 changes had no answer within four minutes."""
    started: list[bytes] = []
    run_child = trial._run_child

    async def counted(request: bytes, arguments: tuple[str, ...]) -> Any:
        started.append(request)
        return await run_child(request, arguments)

    monkeypatch.setattr(trial, "_run_child", counted)
    many = [_create(f"Mine {number}", f"package p{number}\n\nallow if false\n") for number in range(40)]
    assert (await _changed(gate.person(), many)).status_code == 200
    assert len(started) == 1


async def test_changes_that_take_too_long_are_refused_and_none_is_stored(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = gate.person()
    before = await _everything(admin)
    monkeypatch.setattr(change_set, "SECONDS_MAX", 0.01)
    answer = await _changed(admin, _TOGETHER)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, "changes")
    assert await _everything(admin) == before
