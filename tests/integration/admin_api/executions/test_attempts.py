"""The attempts of an execution in the timeline of its call."""

_PUT = {"tool": "shop", "operation": "put_order", "params": {"order": "1", "note": "a"}}


async def test_each_attempt_and_its_error(new_gate, reach, working, ended, service) -> None:
    gate = await new_gate('package gate\n\nallow if input.tool == "shop"\n')
    await reach(gate)
    service.answers += [(503, {}, {"error": "busy"})]
    action = (await gate.as_agent.post("/v1/actions", json=_PUT)).json()
    async with working():
        await ended(gate.as_agent, action["id"])
    steps = (await gate.person().get(f"/v1/actions/{action['id']}?expand=all")).json()["timeline"]
    told = [(one["event"], one["attempt"]) for one in steps if one["event"].startswith("execution.")]
    assert told == [
        ("execution.started", 1),
        ("execution.rescheduled", None),
        ("execution.started", 2),
        ("execution.completed", None),
    ]
    failed = next(one for one in steps if one["event"] == "execution.rescheduled")
    assert "503" in failed["reason"]
    shown = (await gate.person().get(f"/calls/{action['id']}")).text
    for words in ("Forwarded, attempt 2", "Attempt failed, to be repeated", "Completed"):
        assert words in shown
