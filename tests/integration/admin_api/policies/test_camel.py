"""The alternate shape of a policy: accepted, translated, and returned as it was sent."""

import pytest

RULES = [
    {
        "id": "big",
        "name": "Big payments wait",
        "priority": 10,
        "decision": "require_approval",
        "conditions": {
            "tool": "pay",
            "operation": "send",
            "conditionGroups": [
                {"operator": "and", "conditions": [{"field": "params.amount", "operator": "gt", "value": 100}]}
            ],
        },
        "enabled": True,
    },
    {"name": "Payments go", "priority": 20, "decision": "allow", "conditions": {"tool": "pay"}},
]


@pytest.fixture
async def policy(gate) -> dict[str, object]:
    body = {"name": "Payments", "description": None, "rules": RULES, "priority": 5}
    answer = await gate.person().post("/admin/policies", json=body, params={"shape": "camel"})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def decided(gate, **params: object) -> str:
    action = {"tool": "pay", "operation": "send", "params": params}
    return (await gate.as_agent.post("/v1/actions", json=action)).json()["decision"]["decision"]


async def test_it_decides_as_its_rules_say(gate, policy) -> None:
    assert policy["warnings"] == []
    assert policy["rules"] == [RULES[0], RULES[1] | {"id": "rule_2", "enabled": True}]
    assert {"createdAt", "updatedAt", "enabled", "regoPolicy"} <= set(policy)
    assert await decided(gate, amount=500) == "require_approval"
    assert await decided(gate, amount=50) == "allow"
    assert await decided(gate, amount="500") == "allow"  # a text is not greater than a number


async def test_it_is_read_in_either_shape(gate, policy) -> None:
    admin, path = gate.person(), f"/admin/policies/{policy['id']}"
    camel = (await admin.get(path, params={"shape": "camel"})).json()
    assert camel == {name: value for name, value in policy.items() if name != "warnings"}
    plain = (await admin.get(path)).json()
    assert (plain["rego_policy"], plain["version"]) == (camel["regoPolicy"], 1)
    assert "# 10: Big payments wait" in plain["rego_policy"]
    listed = (await admin.get("/admin/policies", params={"shape": "camel"})).json()["data"]
    assert [one["rules"] for one in listed] == [camel["rules"], []]


async def test_it_is_changed_in_either_shape(gate, policy) -> None:
    admin, path = gate.person(), f"/admin/policies/{policy['id']}"
    same = await admin.put(path, json={"name": "Payments", "rules": policy["rules"], "priority": 5})
    assert same.json()["version"] == 1
    less = [RULES[0] | {"enabled": False}, RULES[1]]
    changed = await admin.patch(path, json={"rules": less, "name": "Payments"}, params={"shape": "camel"})
    assert (changed.json()["version"], changed.json()["rules"][0]["enabled"]) == (2, False)
    assert await decided(gate, amount=500) == "allow"
    written = await admin.patch(path, json={"rego_policy": 'package mine\n\ndeny if input.tool == "pay"\n'})
    assert written.json()["version"] == 3
    assert (await admin.get(path, params={"shape": "camel"})).json()["rules"] == []
    restored = await admin.post(f"{path}/restore", json={"version": 1})
    assert restored.json()["version"] == 4
    assert (await admin.get(path, params={"shape": "camel"})).json()["rules"] == policy["rules"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "A"}, "rego_policy"),
        ({"name": "A", "rules": RULES, "rego_policy": "package a"}, "rules"),
        ({"name": "A", "rules": []}, "rules"),
        ({"name": "A", "rules": [{"name": "x"}]}, "priority"),
    ],
)
async def test_what_is_malformed_is_named(gate, body: dict[str, object], field: str) -> None:
    answer = await gate.person().post("/admin/policies", json=body)
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)
