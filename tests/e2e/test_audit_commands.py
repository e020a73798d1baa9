"""``headgate audit`` against a running instance."""

import re

from tests.e2e.clients import Agent
from tests.e2e.instance import Instance
from tests.e2e.upstream import Upstream


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
