"""POST /admin/policies/test: the same tests as in a folder, run where they can do no harm."""

POLICY = """package mine

deny contains "too much" if input.params.amount > 100

allow if input.tool == "read"

test_reads if allow with input as {"tool": "read"}
"""
CASE = {
    "name": "much",
    "input": {"tool": "pay", "operation": "send", "params": {"amount": 500}},
    "expect": {"decision": "deny", "messages": ["too much"]},
}


async def test_tests_and_cases_are_run_and_nothing_is_stored(running_api, organization) -> None:
    async with running_api.as_admin(organization.org_id) as client:
        other = {"name": "other", "content": 'package other\n\nallow if input.tool == "pay"\n', "priority": 10}
        mine = {"name": "mine", "rego_policy": POLICY, "cases": [CASE]}
        together = CASE | {"name": "together", "expect": {"decision": "allow", "policy": "other"}}
        answer = await client.post("/admin/policies/test", json={"policies": [mine, other], "cases": [together]})
        assert answer.status_code == 200, answer.text
        report = answer.json()
        assert [(one["name"], one["outcome"]) for one in report["results"]] == [
            ("test_reads", "passed"),
            ("much", "passed"),
            ("together", "passed"),
        ]
        assert (report["passed"], report["coverage"]["percent"]) == (True, 100.0)
        failing = CASE | {"expect": {"decision": "allow"}}
        answer = await client.post("/admin/policies/test", json={"policies": [mine | {"cases": [failing]}]})
        assert (answer.json()["passed"], answer.json()["counts"]["failed"]) == (False, 1)
        assert (await client.get("/admin/policies")).json()["data"] == []


async def test_what_cannot_be_run_is_told(running_api, organization) -> None:
    async with running_api.as_admin(organization.org_id) as client:

        async def send(**policy: object) -> object:
            body = {"policies": [{"rego_policy": POLICY} | policy]}
            return await client.post("/admin/policies/test", json=body, timeout=60)

        broken = (await send(rego_policy="package a\nallow if {")).json()
        assert (broken["results"][0]["outcome"], broken["passed"]) == ("error", False)
        bad_case = await send(cases=[{"name": "x"}])
        assert (bad_case.status_code, "either expect or record" in bad_case.text) == (400, True)
        slow = "\n\ntest_%d if { some a in numbers.range(1, 9999); some b in numbers.range(1, 9999); a * b < 0 }"
        endless = "package a" + "".join(slow % number for number in range(200))
        refused = await send(rego_policy=endless)
        assert (refused.status_code, "time" in refused.text) == (400, True)
        twice = await client.post("/admin/policies/test", json={"policies": [{"rego_policy": POLICY}] * 2})
        assert twice.status_code == 400
