"""From recorded traffic to a policy that passes its own tests and decides as was decided."""


async def submit(gate, tool: str, **params: object) -> dict[str, object]:
    action = {"tool": tool, "operation": "it", "params": params}
    return (await gate.as_agent.post("/v1/actions", json=action)).json()


async def test_what_was_carried_out_is_allowed_and_nothing_else(gate) -> None:
    admin = gate.person()
    for name in ("a", "b", "a"):
        await submit(gate, "read", name=name)
    await submit(gate, "wipe")
    approved, denied = [await submit(gate, "write", name=name) for name in ("x", "y")]
    await submit(gate, "write", name="open")
    await admin.post(f"/v1/approvals/{approved['approval_id']}/approve", json={"comment": "yes"})
    await admin.post(f"/v1/approvals/{denied['approval_id']}/deny", json={"reason": "no"})

    answer = await admin.post("/admin/policies/suggest", json={"name": "Robot's work"})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["seen"], found["covered"], found["leaves_out"], found["leaves_open"]) == (4, 4, [], [])
    tested = {"name": "s", "rego_policy": found["rego_policy"], "cases": found["cases"]}
    assert (await admin.post("/admin/policies/test", json={"policies": [tested]})).json()["passed"]
    assert (await admin.get("/admin/policies")).json()["pagination"]["total"] == 1

    [policy] = (await admin.get("/admin/policies")).json()["data"]
    saved = await admin.patch(f"/admin/policies/{policy['id']}", json={"rego_policy": found["rego_policy"]})
    assert (saved.status_code, saved.json()["warnings"]) == (200, [])
    statuses = [(await submit(gate, tool, name=name))["status"] for tool, name in (
        ("read", "a"), ("read", "b"), ("read", "c"), ("write", "x"), ("write", "y"), ("wipe", "a"),
    )]  # fmt: skip
    assert statuses == ["allowed", "allowed", "denied", "allowed", "denied", "denied"]


async def test_an_organization_suggests_from_its_own_traffic(gate, new_gate) -> None:
    await submit(gate, "read", name="a")
    found = (await (await new_gate()).person().post("/admin/policies/suggest", json={})).json()
    assert (found["seen"], found["cases"]) == (0, [])
