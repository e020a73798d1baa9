"""``headgate audit`` against a running instance."""

import json
import re

from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for


def test_a_verification_on_a_terminal_shows_how_far_it_is(instance: Instance, agent: Agent, upstream: Upstream) -> None:
    agent.call("GET", f"{upstream.url}/verified")
    status, shown = instance.on_a_terminal("audit", "verify")
    assert status == 0, shown
    counts = re.findall(r"(\d+)/(\d+)", shown)
    assert counts, shown
    assert counts[-1][0] == counts[-1][1] != "0"


def test_without_a_terminal_there_is_only_the_result(instance: Instance) -> None:
    done = instance.try_subcommand("audit", "verify")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_call_that_was_set_aside_is_applied_after_its_cause_is_mended(
    instance: Instance, administrator: Administrator, agent: Agent, upstream: Upstream
) -> None:
    """The call was made and recorded; a constraint keeps it out of the tables."""

    def entries() -> list[dict[str, str]]:
        listed = instance.try_subcommand("audit", "set-aside list", "--json")
        assert (listed.returncode, listed.stderr) == (0, "")
        found: list[dict[str, str]] = json.loads(listed.stdout)["data"]
        return found

    def apply(name: str, *options: str) -> tuple[int, str, str]:
        done = instance.try_subcommand("audit", "set-aside apply", name, *options)
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    assert instance.try_subcommand("audit", "set-aside list").stdout.strip() == "No entry is set aside."
    instance.execute("ALTER TABLE actions ADD CONSTRAINT strange CHECK (position('/strange' IN request) = 0) NOT VALID")
    try:
        assert agent.call("GET", f"{upstream.url}/strange").status_code == 200
        wait_for(lambda: len(entries()) == 1, "the entry is set aside")
        [one] = entries()
        assert one["kind"] == "action" and "strange" in one["failure"]
        shown = instance.try_subcommand("audit", "set-aside list").stdout
        assert one["id"] in shown and one["action_id"] in shown and "CONTEXT" not in shown
        status, said, why = apply(one["id"])
        assert (status, said) == (1, "") and "still cannot be applied" in why and "strange" in why
        assert administrator.api.get(f"/v1/actions/{one['action_id']}").status_code == 404
    finally:
        instance.execute("ALTER TABLE actions DROP CONSTRAINT strange")
    assert apply(one["id"]) == (0, f"applied entry {one['id']}: action of {one['action_id']}", "")
    assert apply(one["id"])[0] == 1 and "is set aside" in apply(one["id"])[2]
    assert entries() == []
    wait_for(
        lambda: administrator.api.get(f"/v1/actions/{one['action_id']}").json().get("status") == "failed",
        "the worker ends the execution, whose outcome was left out",
        seconds=60,
    )
    [event] = administrator.api.get("/admin/audit", params={"event_type": "journal_entry.applied"}).json()["data"]
    assert event["actor"]["type"] == "user"
    verified = administrator.api.post("/admin/audit/verify", json={}).json()
    assert verified["valid"], verified
