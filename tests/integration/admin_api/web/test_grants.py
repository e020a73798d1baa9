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
    "sum_at_most": "1,000",
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
    approval_id = await _held(gate, text="weekly sales", amount=12)
    shown = await gate.person().post(f"/inbox/{approval_id}", data=_GRANT | {"decision": "preview"})
    assert shown.status_code == 200, _text(shown.text)
    words = _text(shown.text)
    assert "Up to 2 calls of write.line" in words
    assert 'text begins with "weekly "' in words
    assert "amount is at most 100" in words
    assert "the sum of amount is at most 1000" in words
    listed = shown.text.partition('class="covered"')[2].partition("</ul>")[0]
    rows = {found[1]: found[0] for found in re.findall(r'</svg>([^<]+)</span><span><a href="/inbox/([^"]+)">', listed)}
    assert rows == {covered: "Let through", other: "Held"}
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
        for changes, place, words in refused:
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
