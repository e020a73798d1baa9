"""/account/absences: who decides in whose place."""

import html
from datetime import UTC, datetime, timedelta

import pytest

from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role


def _later(**ahead: int) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M")


async def test_an_approver_names_a_delegate_and_is_back(gate) -> None:
    vera, otto = gate.person("vera", Role.APPROVER), gate.person("otto", Role.APPROVER)
    for one in (vera, otto):
        await one.get("/auth/session")
    assert "No absences" in (await vera.get("/account/absences")).text
    form = {"stand_in": "otto@example.com", "from": _later(days=1), "until": _later(days=8), "note": "<b>Holiday</b>"}
    made = await vera.post("/account/absences", data=form)
    assert (made.status_code, made.headers["location"]) == (303, "/account/absences")
    (absence,) = (await vera.get("/v1/absences")).json()["data"]
    assert absence["from"].startswith(form["from"])
    assert (absence["user_name"], absence["stand_in_name"]) == ("vera@example.com", "otto@example.com")
    shown = (await vera.get("/account/absences")).text
    assert "Cancel</button>" in shown and "<b>Holiday" not in shown
    seen_by_otto = (await otto.get("/account/absences")).text
    assert "vera@example.com" in seen_by_otto and "Cancel</button>" not in seen_by_otto
    path = f"/account/absences/{absence['id']}"
    assert (await otto.post(path)).status_code in (403, 404)
    assert (await vera.post(path)).status_code == 303
    assert (await vera.get("/v1/absences")).json()["data"] == []


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"stand_in": "vera@example.com"}, 400),
        ({"stand_in": "nobody@example.com"}, 400),
        ({"until": _later(days=-1)}, 400),
        ({"until": "soon"}, 400),
        ({"until": ""}, 400),
    ],
)
async def test_a_refused_form_stays_typed(gate, change: dict[str, str], status: int) -> None:
    vera = gate.person("vera", Role.APPROVER)
    form = {"stand_in": "otto@example.com", "until": _later(days=2), "note": "kept"} | change
    answer = await vera.post("/account/absences", data=form)
    assert answer.status_code == status, html.unescape(answer.text)
    assert 'value="kept"' in answer.text and 'role="alert"' in answer.text


async def test_an_administrator_names_a_delegate_for_somebody(gate) -> None:
    ids = {}
    for name in ("vera", "otto"):
        person = gate.person(name, Role.APPROVER)
        ids[name] = (await person.get("/auth/session")).json()["user_id"]
    form = {"user_id": ids["vera"], "stand_in": ids["otto"], "until": _later(days=2)}
    admin = gate.person()
    assert (await admin.post("/account/absences", data=form)).status_code == 303
    assert "End now" in (await admin.get("/account/absences")).text
    assert (await gate.person("otto", Role.APPROVER).post("/account/absences", data=form)).status_code == 403


async def test_who_may_not_decide_names_nobody(gate, new_gate) -> None:
    viewer = gate.person("vic", Role.VIEWER)
    assert "Name delegate" not in (await viewer.get("/account/absences")).text
    assert (await viewer.post("/account/absences", data={})).status_code == 403
    assert (await gate.person().post(f"/account/absences/{new_id(IdPrefix.ABSENCE)}")).status_code == 404
