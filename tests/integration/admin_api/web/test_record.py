"""Legal holds, retention and erasure in a browser: what a hold keeps, what the forms refuse, what is erased."""

import html

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_HOSTILE = "<script>alert(1)</script>\u202etxt.exe"


async def _called(gate) -> str:
    body = {"tool": "read", "operation": "line", "params": {"who": "bob"}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["id"])


async def test_a_hold_is_placed_keeps_its_call_and_is_lifted(gate) -> None:
    action_id = await _called(gate)
    person = gate.person()
    placed = await person.post("/audit/holds", data={"scope": "action", "target": action_id, "reason": _HOSTILE})
    assert (placed.status_code, placed.headers["location"]) == (303, "/audit/holds"), placed.text
    shown = (await person.get("/audit/holds")).text
    assert "<script>alert" not in shown
    assert "U+202E" in shown
    assert "in force" in shown
    erased = await person.post("/settings/retention", data={"act": "erase", "action_ids": action_id, "reason": "asked"})
    assert "under a legal hold" in erased.text
    [one] = (await person.get("/admin/retention/holds")).json()["data"]
    short = await person.post(f"/audit/holds/{one['id']}", data={"reason": "x"})
    assert short.status_code == 400
    assert 'value="x"' in short.text
    assert (await person.post(f"/audit/holds/{one['id']}", data={"reason": "it is over"})).status_code == 303
    shown = (await person.get("/audit/holds")).text
    assert "it is over" in shown
    assert "in force" not in shown
    events = (await person.get("/admin/audit?search=it+is+over")).json()["data"]
    assert [event["event_type"] for event in events] == ["legal_hold.lifted"]


@pytest.mark.parametrize(
    "form",
    [
        {"scope": "planet", "reason": "why not"},
        {"scope": "agent", "reason": "why not"},
        {"scope": "organization", "target": "agt_x", "reason": "why not"},
        {"scope": "action", "target": "agt_x", "reason": "why not"},
        {"scope": "organization", "reason": ""},
    ],
)
async def test_a_hold_that_is_refused_keeps_what_was_typed(gate, form: dict[str, str]) -> None:
    answer = await gate.person().post("/audit/holds", data=form)
    assert answer.status_code == 400
    assert f'value="{form["reason"]}"' in answer.text
    assert (await gate.person().get("/admin/retention/holds")).json()["data"] == []


async def test_retention_is_saved_where_nobody_has_saved_it_meanwhile(gate) -> None:
    person = gate.person()
    assert 'name="encrypt" value="30"' in (await person.get("/settings/retention")).text
    form = {"act": "save", "encrypt": "0", "bodies": "365", "captures": "", "reports": "30"}
    assert (await person.post("/settings/retention", data=form)).status_code == 303
    stored = {"encrypt_after_days": 0, "drop_after_days": {"bodies": 365, "reports": 30}}
    assert (await person.get("/admin/settings/retention")).json() == stored
    shown = (await person.get("/settings/retention")).text
    assert 'name="encrypt" value="0"' in shown
    stale = await person.post("/settings/retention", data=form | {"version": '"1"', "bodies": "10"})
    assert stale.status_code == 303
    again = await person.post("/settings/retention", data=form | {"version": '"1"', "bodies": "20"})
    assert again.status_code in (409, 412)
    for wrong in ("soon", "-1", "1.5", "99999999"):
        refused = await person.post("/settings/retention", data=form | {"bodies": wrong})
        assert refused.status_code == 400
        assert f'value="{wrong}"' in refused.text
    assert (await person.get("/admin/settings/retention")).json()["drop_after_days"]["bodies"] == 10


async def test_erasing_names_first_what_it_does(gate) -> None:
    action_id = await _called(gate)
    person = gate.person()
    form = {"action_ids": f" {action_id}\n", "depth": "everything", "reason": "a request of bob"}
    review = html.unescape((await person.post("/settings/retention", data=form | {"act": "review"})).text)
    assert "Erase 1 call permanently?" in review
    assert "the payloads of their audit events" in review
    assert f'name="action_ids" value="{action_id}"' in review
    assert (await person.get(f"/v1/actions/{action_id}?expand=all")).json()["request"]["params"] == {"who": "bob"}
    done = await person.post("/settings/retention", data=form | {"act": "erase"})
    assert ">Erased</td>" in done.text
    assert (await person.get(f"/v1/actions/{action_id}?expand=all")).json()["body"] == "erased"
    assert ">Already erased</td>" in (await person.post("/settings/retention", data=form | {"act": "erase"})).text
    for wrong in ({"action_ids": ""}, {"action_ids": "act_x"}, {"reason": ""}, {"depth": "half"}, {"act": "shrug"}):
        assert (await person.post("/settings/retention", data=form | {"act": "erase"} | wrong)).status_code == 400


@pytest.mark.parametrize(("role", "status"), [(Role.ADMIN, 200), (Role.AUDITOR, 403), (Role.APPROVER, 403)])
async def test_role_by_role(gate, role: Role, status: int) -> None:
    person = gate.person(role.value, role)
    for path in ("/audit/holds", "/settings/retention"):
        assert (await person.get(path)).status_code == status
    assert ("/audit/holds" in (await person.get("/audit")).text) == (role is Role.ADMIN)


async def test_a_hold_that_is_not_there(gate) -> None:
    path = f"/audit/holds/{new_id(IdPrefix.LEGAL_HOLD)}"
    assert (await gate.person().post(path, data={"reason": "it is over"})).status_code == 404


async def test_events_are_found_by_operation_and_call(gate) -> None:
    action_id = await _called(gate)
    shown = (await gate.person().get(f"/audit?action_id={action_id}&operation=line")).text
    assert f'name="action_id" value="{action_id}"' in shown
    assert 'name="operation" value="line"' in shown
    assert f'href="/calls/{action_id}">read.line</a>' in shown


async def test_a_checkpoint_shows_who_vouches_for_it(gate, superuser) -> None:
    await _called(gate)
    person = gate.person()
    size = (await person.get("/admin/audit/checkpoints?latest=true")).json()["data"]
    if not size:  # the worker signs; here the row of a checkpoint is enough
        superuser.execute(
            "INSERT INTO audit_checkpoints (org_id, size, note, created_at) VALUES (%s, 1, 'log', now())", [gate.org_id]
        )
    superuser.execute(
        "INSERT INTO audit_attestations (org_id, size, kind, name, document) VALUES (%s, 1, 'cosignature', %s, 'line')",
        [gate.org_id, f"witness.example/{_HOSTILE}"],
    )
    shown = (await person.get("/audit/checkpoints")).text
    assert "cosigned by witness.example/" in shown
    assert "<script>alert" not in shown
    [found] = (await person.get("/admin/audit/checkpoints")).json()["data"]
    assert found["attestations"][0]["kind"] == "cosignature"
