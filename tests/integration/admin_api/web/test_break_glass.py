"""Break-glass as a page: opened by who may, seen on every page while it is open, and reviewed by somebody else."""

import html
import re

import pytest

from headgate.organizations.model import Role

_WIPE = {"tool": "wipe", "operation": "disk", "params": {"host": "a"}}
_PATH = "/break-glass"


def _text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


async def _denied(gate, **params: object) -> str:
    answer = await gate.as_agent.post("/v1/actions", json=_WIPE | {"params": {"host": "a"} | params})
    assert answer.json()["status"] == "denied", answer.text
    return str(answer.json()["id"])


async def _open(gate, denied: str, **changes: str):
    form = {"action_id": denied, "reason": "production <burns>", "expires_in_seconds": "900"} | changes
    return await gate.person("frida", Role.BREAK_GLASS).post(_PATH, data=form)


async def _id(gate) -> str:
    return str((await gate.person().get("/admin/break-glass")).json()["data"][0]["id"])


async def test_opened_from_the_denied_call_and_seen_on_every_page_until_it_is_used(gate) -> None:
    action_id, frida = await _denied(gate), gate.person("frida", Role.BREAK_GLASS)
    assert f'href="/break-glass?action={action_id}"' in (await frida.get(f"/calls/{action_id}")).text
    to_an_administrator = _text((await gate.person().get(f"/calls/{action_id}")).text)
    assert "with the role break_glass can let the identical" in to_an_administrator
    form = (await frida.get(f"{_PATH}?action={action_id}")).text
    assert f'name="action_id" value="{action_id}"' in form
    done = await _open(gate, action_id)
    assert (done.status_code, done.headers["location"]) == (303, _PATH)
    for path in ("/inbox", "/activity", "/settings/members", _PATH):
        words = _text((await gate.person().get(path)).text)
        assert "Break-glass is open: wipe.disk goes through once, until" in words, path
        assert "“production <burns>”" in words
    allowed = (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()
    assert allowed["status"] == "allowed"
    shown = (await gate.person().get(_PATH)).text
    assert "Break-glass is open" not in shown
    assert f'by <a href="/calls/{allowed["id"]}">this call</a>' in shown


async def test_a_second_person_ends_and_reviews_it(gate) -> None:
    await _open(gate, await _denied(gate))
    path = f"{_PATH}/{await _id(gate)}"
    own = (await gate.person("frida", Role.BREAK_GLASS).get(_PATH)).text
    assert "A second person must review this use, which also ends it" in own
    anna = gate.person("anna", Role.APPROVER)
    assert "Review and end" in (await anna.get(_PATH)).text
    refused = await anna.post(path, data={"outcome": "not_justified", "note": ""})
    assert (refused.status_code, "A reason is required" in refused.text) == (400, True)
    assert '<option value="not_justified" selected>' in refused.text
    done = await anna.post(path, data={"outcome": "not_justified", "note": "a ticket would have done"})
    assert (done.status_code, done.headers["location"]) == (303, f"{_PATH}?view=all")
    assert (await gate.as_agent.post("/v1/actions", json=_WIPE)).json()["status"] == "denied"
    words = _text((await anna.get(f"{_PATH}?view=all")).text)
    assert "Break-glass is open" not in words
    assert "Ended by the review" in words
    assert "Not justified Reviewed by anna@example.com" in words
    assert "“a ticket would have done”" in words
    assert "No use to review" in (await anna.get(_PATH)).text
    assert (await anna.post(path, data={"outcome": "justified"})).status_code == 409


async def test_who_opened_it_ends_it_on_the_page(gate) -> None:
    await _open(gate, await _denied(gate))
    frida, path = gate.person("frida", Role.BREAK_GLASS), f"{_PATH}/{await _id(gate)}/end"
    assert f'action="{path}"' in (await frida.get(_PATH)).text
    assert f'action="{path}"' not in (await gate.person("anna", Role.APPROVER).get(_PATH)).text
    assert (await frida.post(path)).headers["location"] == _PATH
    words = _text((await frida.get(_PATH)).text)
    assert "Expired, not used" in words and "Break-glass is open" not in words
    again = await frida.post(path)
    assert (again.status_code, "This break-glass use is over." in again.text) == (409, True)


async def test_several_are_counted(gate) -> None:
    for host in ("a", "b"):
        await _open(gate, await _denied(gate, host=host))
    assert "Break-glass is open for 2 calls." in _text((await gate.person().get("/inbox")).text)


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"action_id": "act_nonsense"}, 400, "is not an identifier"),
        ({"reason": ""}, 400, "required"),
        ({"expires_in_seconds": "3601"}, 400, "3600"),
    ],
)
async def test_a_form_that_is_wrong_opens_nothing_and_keeps_what_was_typed(
    gate, changes: dict[str, str], status: int, words: str
) -> None:
    action_id = await _denied(gate)
    answer = await _open(gate, action_id, **changes)
    assert (answer.status_code, words in _text(answer.text)) == (status, True)
    assert f'value="{changes.get("action_id", action_id)}"' in answer.text
    (field,) = changes
    assert re.search(rf'name="{field}".*?</label>', answer.text, re.S)[0].count("problem") == (
        field != "expires_in_seconds"
    )
    assert (await gate.person().get("/admin/break-glass")).json()["data"] == []


async def test_break_glass_role_by_role(gate) -> None:
    action_id = await _denied(gate)
    await _open(gate, await _denied(gate, host="other"))
    review = f"{_PATH}/{await _id(gate)}"
    for role, sees, opens, reviews in (
        (Role.ADMIN, 200, 403, 400),
        (Role.APPROVER, 200, 403, 400),
        (Role.AUDITOR, 200, 403, 403),
        (Role.VIEWER, 200, 403, 403),
        (Role.BREAK_GLASS, 200, 400, 403),
        (Role.OPERATOR, 403, 403, 403),
    ):
        person = gate.person(f"a {role.value}", role)
        shown = await person.get(_PATH)
        assert shown.status_code == sees, role
        assert (f'action="{_PATH}"' in shown.text) == (opens == 400), role
        assert (f'action="{review}"' in shown.text) == (reviews == 400), role
        assert (await person.post(_PATH, data={"action_id": action_id})).status_code == opens, role
        assert (await person.post(review, data={"outcome": "perhaps"})).status_code == reviews, role
    assert '<a class="btn quiet" href="/break-glass">' in (await gate.person().get("/stop")).text
