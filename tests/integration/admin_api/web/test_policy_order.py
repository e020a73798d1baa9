"""Priorities from the list of policies: together or not at all, and never over somebody else's change."""

import re

import pytest

from admin_api.web import policy_order

_REGO = 'package {}\n\nallow if input.tool == "{}"\n'


async def _policy(gate, name: str, priority: int) -> str:
    made = await gate.person().post(
        "/admin/policies", json={"name": name, "priority": priority, "rego_policy": _REGO.format(name, name)}
    )
    return str(made.json()["id"])


async def _priorities(gate) -> dict[str, int]:
    return {one["name"]: one["priority"] for one in (await gate.person().get("/admin/policies")).json()["data"]}


async def _fields(gate) -> dict[str, str]:
    """What the form of the page holds, by the policy's name."""
    page = (await gate.person().get("/policies")).text
    return {
        name: field for field, name in re.findall(r'name="(priority:[^"]+)"[^>]*aria-label="Priority of ([^"]+)"', page)
    }


async def test_several_priorities_are_saved_together(gate) -> None:
    await _policy(gate, "one", 10)
    await _policy(gate, "two", 20)
    fields = await _fields(gate)
    saved = await gate.person().post("/policies", data={fields["one"]: "30", fields["two"]: "15"})
    assert (saved.status_code, saved.headers["location"]) == (303, "/policies")
    assert {"one": 30, "two": 15}.items() <= (await _priorities(gate)).items()


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", "", "1000000", "9" * 40])
async def test_one_wrong_number_saves_none(gate, wrong: str) -> None:
    await _policy(gate, "one", 10)
    await _policy(gate, "two", 20)
    fields = await _fields(gate)
    refused = await gate.person().post("/policies", data={fields["one"]: "30", fields["two"]: wrong})
    assert refused.status_code == 400
    assert {"one": 10, "two": 20}.items() <= (await _priorities(gate)).items()


async def test_an_old_page_undoes_nothing_and_names_the_policy(gate) -> None:
    await _policy(gate, "one", 10)
    two = await _policy(gate, "two", 20)
    fields = await _fields(gate)
    await gate.person().patch(f"/admin/policies/{two}", json={"priority": 5})
    late = await gate.person().post("/policies", data={fields["one"]: "30", fields["two"]: "21"})
    assert (late.status_code, "policy two: version 1 is not the newest" in late.text) == (409, True)
    assert {"one": 10, "two": 5}.items() <= (await _priorities(gate)).items()
    # What this page left as it was is not sent at all.
    assert (await gate.person().post("/policies", data={fields["one"]: "30", fields["two"]: "20"})).status_code == 303
    assert {"one": 30, "two": 5}.items() <= (await _priorities(gate)).items()


@pytest.mark.parametrize(
    ("before", "after"),
    [((10, 20), (20, 10)), ((7, 7), (7, 6)), ((0, 0), (1, 0))],
)
async def test_a_policy_moves_above_the_one_before_it(gate, before: tuple[int, int], after: tuple[int, int]) -> None:
    await _policy(gate, "upper", before[0])
    await _policy(gate, "lower", before[1])
    fields = await _fields(gate)
    moved = await gate.person().post("/policies", data={"move": f"{fields['lower']} {fields['upper']}"})
    assert moved.status_code == 303
    assert {"upper": after[0], "lower": after[1]}.items() <= (await _priorities(gate)).items()


@pytest.mark.parametrize("move", ["x", "priority:pol_x:1:1", "a b c", "priority:pol_x:1:1 priority:pol_y:1:2"])
async def test_a_move_of_no_policy_is_refused(gate, move: str) -> None:
    assert (await gate.person().post("/policies", data={"move": move})).status_code == 400


async def test_a_long_list_says_that_there_are_more(gate, monkeypatch) -> None:
    monkeypatch.setattr(policy_order, "_AT_ONCE", 2)
    for number in range(5):
        await _policy(gate, f"p{number}", 100 + number)
    total = (await gate.person().get("/admin/policies?total=exact")).json()["pagination"]["total"]
    first, last = (await gate.person().get("/policies")).text, (await gate.person().get("/policies?start=4")).text
    assert (f"1 to 2 of {total}" in first, "/policies?start=2" in first) == (True, True)
    assert (f"5 to 6 of {total}" in last or f"5 to 5 of {total}" in last, "/policies?start=2" in last) == (True, True)


async def test_what_each_policy_decided_in_seven_days(gate, new_gate) -> None:
    for operation in ("list", "list", "line", "wipe"):
        tool = {"list": "read", "line": "write", "wipe": "wipe"}[operation]
        await gate.as_agent.post("/v1/actions", json={"tool": tool, "operation": operation, "params": {}})
    person = gate.person()
    found = (await person.get("/admin/policies/effect")).json()
    assert (sum(one["calls"] for one in found["data"]), found["is_minimum"]) == (4, False)
    assert all(one["calls"] == one["allowed"] + one["held"] + one["denied"] for one in found["data"])
    page = (await person.get("/policies")).text
    [policy] = (await person.get("/admin/policies")).json()["data"]
    [of_it] = [one for one in found["data"] if one["policy_id"] == policy["id"]]
    assert re.search(rf'data-row="{policy["id"]}".*?>{of_it["calls"]}</td>', page, re.S)
    assert (await (await new_gate()).person().get("/admin/policies/effect")).json()["data"] == []
