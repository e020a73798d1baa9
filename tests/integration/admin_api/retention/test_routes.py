"""Retention over HTTP and from the command line: who may, what is refused, and what an action shows afterwards."""

import asyncio
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from headgate.organizations.model import Role
from headgate.workflows.keep_within_limits import RetentionSweep

_REGO = 'package own\n\nallow if input.tool == "read"\n\nrequire_approval if input.tool == "write"\n'


@pytest.fixture
async def act(gate):
    made = await gate.person().post("/admin/policies", json={"name": "own", "rego_policy": _REGO, "priority": 50})
    assert made.status_code == 201, made.text

    async def submit(tool: str = "read") -> str:
        body = {"tool": tool, "operation": "rows", "params": {"who": "bob@example.com"}}
        return (await gate.as_agent.post("/v1/actions", json=body)).json()["id"]

    return submit


@dataclass(frozen=True)
class Ran:
    exit_code: int
    output: str


@pytest.fixture
def command(gate):
    """``headgate retention …`` as an administrator of the gate's organization."""
    token = gate.api.token(gate.org_id, Role.ADMIN)
    environment = {**os.environ, "HEADGATE_API_URL": gate.api.url, "HEADGATE_TOKEN": token}

    async def call(*arguments: str) -> Ran:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headgate.cli.main", "retention", *arguments,
            env=environment, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await child.communicate()
        return Ran(child.returncode or 0, output.decode())

    return call


async def test_a_policy_is_set_shown_and_checked(gate, command) -> None:
    admin, path = gate.person(), "/admin/settings/retention"
    assert (await admin.get(path)).json() == {"encrypt_after_days": 30, "drop_after_days": {"reports": 365}}
    found = await command("set", "--encrypt-after", "7", "--drop", "bodies=365")
    kept = "encrypted      after 7 days\ndrop bodies    after 365 days\ndrop reports   after 365 days\n"
    assert (found.exit_code, found.output) == (0, kept)
    found = await command("set", "--encrypt-after", "never", "--drop", "bodies=never", "--drop", "reports=never")
    assert (await command("show")).output == "encrypted      never\ndrop reports   never\n" == found.output
    for wrong, field in (
        ({"drop_after_days": {"bodies": 0}}, "drop_after_days.bodies"),
        ({"drop_after_days": {"events": 1}}, "drop_after_days.events"),
        ({"drop_after_days": [1]}, "drop_after_days"),
        ({"encrypt_after_days": True}, "encrypt_after_days"),
        ({"encrypt_after_days": 1e99}, "encrypt_after_days"),
        ({"encrypt_after": 1}, "encrypt_after"),
    ):
        refused = await admin.put(path, json=wrong)
        assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, field), refused.text
    assert (await admin.put(path, json=[])).status_code == 400


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.APPROVER, Role.VIEWER])
async def test_only_administrators_may(gate, role: Role) -> None:
    person = gate.person("olga", role)
    assert (await person.get("/admin/settings/retention")).status_code == 403
    assert (await person.post("/admin/retention/erasures", json={})).status_code == 403
    assert (await person.post("/admin/retention/holds", json={})).status_code == 403


async def test_an_erased_action_shows_that_it_was(gate, act, command) -> None:
    action_id, open_one = await act(), await act("write")
    shown = (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()
    assert (shown["body"], shown["request"]["params"]) == ("clear", {"who": "bob@example.com"})
    held = await command("hold", "--action", action_id, "--reason", "Smith v. Example")
    assert held.exit_code == 0, held.output
    hold_id = held.output.partition(":")[0]
    refused = await command("erase", action_id, "--reason", "article 17", "--yes")
    assert (refused.exit_code, refused.output) == (1, f"{action_id}: held\n")
    assert hold_id in (await command("holds")).output
    assert (await command("lift", hold_id, "--reason", "settled")).exit_code == 0
    assert (await command("lift", hold_id, "--reason", "settled")).exit_code == 1
    assert (await command("holds")).output == "none\n"
    erased = await command("erase", action_id, open_one, "--reason", "article 17", "--yes")
    assert erased.output == f"{action_id}: erased\n{open_one}: not_at_rest\n"
    shown = (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()
    assert (shown["body"], shown["request"]["params"], shown["status"]) == ("erased", {}, "allowed")
    listed = await gate.as_agent.get("/v1/actions")
    assert {one["id"] for one in listed.json()["data"]} == {action_id, open_one}


async def test_what_was_put_away_is_opened_for_whoever_may_see_the_action(gate, act, worker_database, applied) -> None:
    action_id = await act()
    await applied()
    sweep = RetentionSweep(worker_database, gate.api.dependencies.vault, lambda: datetime.now(UTC) + timedelta(days=31))
    assert await sweep.sweep(gate.org_id) == 1
    shown = (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()
    assert (shown["body"], shown["request"]["params"]) == ("kept", {"who": "bob@example.com"})


async def test_another_organization_reaches_nothing(gate, new_gate, act) -> None:
    action_id, other = await act(), await new_gate()
    body = {"action_ids": [action_id], "reason": "article 17"}
    answer = await other.person().post("/admin/retention/erasures", json=body)
    assert answer.json()["actions"] == [{"action_id": action_id, "outcome": "unknown"}]
    hold = {"scope": "action", "target": action_id, "reason": "Smith v. Example"}
    assert (await other.person().post("/admin/retention/holds", json=hold)).status_code == 404
    placed = await gate.person().post("/admin/retention/holds", json=hold)
    assert placed.status_code == 201
    assert (await other.person().get("/admin/retention/holds")).json() == {"data": []}
    lift = f"/admin/retention/holds/{placed.json()['id']}/lift"
    assert (await other.person().post(lift, json={"reason": "not mine"})).status_code == 404
    shown = (await gate.as_agent.get(f"/v1/actions/{action_id}?expand=all")).json()
    assert shown["body"] == "clear"


@pytest.mark.parametrize(
    "body",
    [
        {"scope": "organization", "target": "agt_1", "reason": "a reason"},
        {"scope": "agent", "reason": "a reason"},
        {"scope": "agent", "target": "act_1", "reason": "a reason"},
        {"scope": "everything", "reason": "a reason"},
        {"scope": "organization", "reason": "no"},
    ],
)
async def test_a_hold_that_makes_no_sense_is_refused(gate, body: dict[str, str]) -> None:
    assert (await gate.person().post("/admin/retention/holds", json=body)).status_code == 400
