"""Grants in the dashboard: given with an approval, listed, confirmed, revoked."""

import html
import re

from headgate.organizations.model import Role

_GRANT = {
    "decision": "grant",
    "which": "conditions",
    "kind-0": "at_most",
    "value-0": "100",
    "kind-1": "prefix",
    "value-1": "weekly ",
    "max_uses": "2",
    "expires_in_seconds": "3600",
    "reason": "the reports of tonight",
    "sum_param": "amount",
    "sum_at_most": "1000",
}


async def _submit(gate, **params: object):
    return (
        await gate.as_agent.post("/v1/actions", json={"tool": "write", "operation": "line", "params": params})
    ).json()


async def _held(gate, **params: object) -> str:
    return str((await _submit(gate, **params))["approval_id"])


def _text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


async def test_a_preview_grants_nothing_and_says_what_would_be_let_through(gate) -> None:
    covered = await _held(gate, text="weekly report", amount=90)
    other = await _held(gate, text="monthly report", amount=90)
    large = await _held(gate, text="weekly " + "x" * 20_000, amount=1)
    approval_id = await _held(gate, text="weekly sales", amount=12)
    shown = await gate.person().post(f"/inbox/{approval_id}", data=_GRANT | {"decision": "preview", "reason": ""})
    assert shown.status_code == 200, _text(shown.text)
    words = _text(shown.text)
    assert "Up to 2 calls of write.line" in words
    assert 'text begins with "weekly "' in words
    assert "amount is at most 100" in words
    assert "the sum of amount is at most 1000" in words
    listed = shown.text.partition('class="covered"')[2].partition("</ul>")[0]
    rows = {found[1]: found[0] for found in re.findall(r'</svg>([^<]+)</span><span><a href="/inbox/([^"]+)">', listed)}
    assert rows == {covered: "Let through", other: "Held"}
    assert f'Too large to say</span><span><a href="/inbox/{large}">' in listed
    assert ">weekly </textarea>" in shown.text
    assert (await gate.person().get("/admin/grants")).json()["data"] == []
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["status"] == "pending"


async def test_a_condition_in_the_middle_lets_the_next_call_through(gate) -> None:
    approval_id = await _held(gate, text="weekly sales", amount=12)
    done = await gate.person().post(f"/inbox/{approval_id}", data=_GRANT)
    assert done.status_code == 303, _text(done.text)
    (grant,) = (await gate.person().get("/admin/grants")).json()["data"]
    assert (grant["max_uses"], grant["sum"]["at_most"], grant["reason"]) == (2, 1000, "the reports of tonight")
    assert grant["conditions"] == [{"param": "amount", "at_most": 100}, {"param": "text", "prefix": "weekly "}]
    assert (await _submit(gate, text="monthly", amount=1))["status"] == "pending_approval"
    assert (await _submit(gate, text="weekly numbers", amount=101))["status"] == "pending_approval"
    assert (await _submit(gate, text="weekly numbers", amount=100))["status"] == "allowed"


async def test_what_is_wrong_stands_at_its_field_and_the_rest_is_kept(gate) -> None:
    approval_id = await _held(gate, text="weekly sales", amount=12)
    refused = [
        ({"kind-1": "matches", "value-1": "("}, 'name="value-1"', "is not an RE2 pattern"),
        ({"value-0": "many"}, 'name="value-0"', "'many' is not a number."),
        ({"max_uses": "0"}, 'name="max_uses"', "greater than or equal to 1"),
        ({"reason": " "}, 'name="reason"', ""),
    ]
    for decision in ("preview", "grant"):
        for changes, place, words in refused if decision == "grant" else refused[:-1]:  # a preview needs no reason
            answer = await gate.person().post(f"/inbox/{approval_id}", data=_GRANT | changes | {"decision": decision})
            assert answer.status_code == 400, (changes, _text(answer.text))
            assert re.search(rf"<(input|textarea)[^>]*{place}[^>]*autofocus", answer.text), changes
            assert words in _text(answer.text)
            assert 'value="3600" selected' in answer.text
            assert '<details class="grant" id="grant" open>' in answer.text
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["status"] == "pending"


async def test_a_grant_is_refused_to_who_may_not_decide(gate) -> None:
    approval_id = await _held(gate, text="weekly sales", amount=12)
    for decision in ("preview", "grant"):
        answer = await gate.person("vera", Role.VIEWER).post(
            f"/inbox/{approval_id}", data=_GRANT | {"decision": decision}
        )
        assert answer.status_code == 403


async def _granted(gate, person=None, **changes: object) -> dict:
    body = {"agent_id": gate.agent_id, "tool": "write", "operation": "line", "max_uses": 3, "expires_in_seconds": 600}
    body |= {"reason": "tonight", "conditions": [{"param": "text", "prefix": "weekly "}]} | changes
    answer = await (person or gate.person()).post("/admin/grants", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def _listed(gate, query: str = "") -> list[str]:
    return re.findall(r'data-row="(grt_[^"]+)"', (await gate.person().get(f"/grants{query}")).text)


async def test_after_granting_the_page_of_the_grant_is_shown_with_its_uses(gate) -> None:
    approval_id = await _held(gate, text="weekly sales", amount=12)
    done = await gate.person().post(f"/inbox/{approval_id}", data=_GRANT)
    used = await _submit(gate, text="weekly numbers", amount=100)
    shown = await gate.person().get(done.headers["location"])
    words = _text(shown.text)
    assert "1 of 2 used" in words
    assert "100 of 1000 used" in words
    assert 'text begins with "weekly "' in words
    assert f'href="/calls/{used["id"]}"' in shown.text
    assert f'href="/inbox/{approval_id}"' in shown.text
    assert "alice@example.com" in words


async def test_the_list_by_state_agent_and_tool(gate) -> None:
    one, other = (await _granted(gate))["id"], (await _granted(gate, tool="send"))["id"]
    assert await _listed(gate) == [other, one]
    assert await _listed(gate, "?tool=write") == [one]
    agent = (await gate.person().get(f"/admin/agents/{gate.agent_id}")).json()
    named = (await gate.person().post("/admin/agents", json={"name": "only one"})).json()["id"]
    theirs = (await _granted(gate, agent_id=named, tool="elsewhere"))["id"]
    assert await _listed(gate, "?agent=only%20one") == [theirs]
    ambiguous = await gate.person().get("/grants", params={"agent": agent["name"]})
    assert (ambiguous.status_code, "Filter by the id" in ambiguous.text) == (400, True)
    await gate.person().delete(f"/admin/grants/{theirs}", params={"reason": "done"})
    assert await _listed(gate, f"?agent={gate.agent_id}&tool=send") == [other]
    assert await _listed(gate, "?agent=nobody") == []
    await gate.person().delete(f"/admin/grants/{one}", params={"reason": "done"})
    assert await _listed(gate) == [other]
    assert await _listed(gate, "?view=revoked") == [theirs, one]
    assert await _listed(gate, "?view=all") == [theirs, other, one]
    assert await _listed(gate, f"?view=all&cursor={other}") == [one]
    assert (await gate.person().get("/grants?view=none")).status_code == 404


async def test_the_empty_list_says_how_to_give_one(gate) -> None:
    assert "choose “Grant similar requests”" in _text((await gate.person().get("/grants")).text)


async def test_a_second_person_confirms_and_the_first_is_not_asked(gate) -> None:
    alice, bob = gate.person("alice", Role.APPROVER), gate.person("bob", Role.APPROVER)
    grant = await _granted(gate, alice)
    path = f"/grants/{grant['id']}"
    assert 'value="confirm"' not in (await alice.get(path)).text
    refused = await alice.post(path, data={"act": "confirm"})
    assert (refused.status_code, "has already confirmed" in refused.text) == (409, True)
    assert 'value="confirm"' in (await bob.get(path)).text
    assert (await bob.post(path, data={"act": "confirm"})).status_code == 303
    words = _text((await bob.get(path)).text)
    assert "By alice@example.com" in words
    assert "Confirmed by bob@example.com" in words


async def test_revoke_needs_a_reason_and_ends_it_at_once(gate) -> None:
    path = f"/grants/{(await _granted(gate))['id']}"
    assert (await _submit(gate, text="weekly a"))["status"] == "allowed"
    for form in ({"act": "revoke"}, {"act": "revoke", "reason": "x" * 501}, {"act": "shrug", "reason": "mine"}):
        refused = await gate.person().post(path, data=form)
        assert refused.status_code == 400
        assert form.get("reason", "") in refused.text
    done = await gate.person().post(path, data={"act": "revoke", "reason": "the release is over"})
    assert (done.status_code, done.headers["location"]) == (303, path)
    assert (await _submit(gate, text="weekly b"))["status"] == "pending_approval"
    words = _text((await gate.person().get(path)).text)
    assert "by alice@example.com: “the release is over”" in words
    assert 'value="revoke"' not in (await gate.person().get(path)).text


async def test_grants_role_by_role(gate) -> None:
    path = f"/grants/{(await _granted(gate, gate.person('zoe')))['id']}"
    for role, sees, acts in (
        (Role.ADMIN, 200, 303),
        (Role.APPROVER, 200, 303),
        (Role.AUDITOR, 200, 403),
        (Role.VIEWER, 200, 403),
        (Role.BREAK_GLASS, 200, 403),
        (Role.OPERATOR, 403, 403),
    ):
        person = gate.person(f"a {role.value}", role)
        shown = await person.get(path)
        assert shown.status_code == (await person.get("/grants")).status_code == sees
        for act in ("confirm", "revoke"):
            assert (f'value="{act}"' in shown.text) == (acts == 303), (role, act)
        assert (await person.post(path, data={"act": "confirm"})).status_code == acts


async def test_pages_link_to_the_grants(gate) -> None:
    approval_id = await _held(gate, text="weekly sales")
    assert (
        f'href="/grants?agent={gate.agent_id}&amp;tool=write"'
        in (await gate.person().get(f"/inbox/{approval_id}")).text
    )
    assert f'href="/grants?agent={gate.agent_id}"' in (await gate.person().get(f"/agents/{gate.agent_id}")).text
    assert '<a href="/grants" title="Grants">' in (await gate.person().get("/activity")).text
