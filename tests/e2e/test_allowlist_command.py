"""``headgate allowlist`` against a running instance: what it says is what the guard does."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import LOOPBACK
from tests.e2e.instance import Instance


@pytest.fixture(scope="module", autouse=True)
def empty_list(instance: Instance) -> Iterator[None]:
    """The list of a new organization, for this file."""
    with closing(Administrator(instance)) as administrator:
        administrator.allow_destinations()
        yield
        administrator.allow_destinations(LOOPBACK)


def told(instance: Instance, command: str, *words: str) -> str:
    """What ``headgate allowlist COMMAND`` prints."""
    done = instance.try_subcommand("allowlist", command, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(instance: Instance) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(told(instance, "show", "--json"))["destinations"]
    return found


def test_added_shown_and_removed(instance: Instance, upstream, path: str) -> None:
    port = upstream.url.rpartition(":")[2]
    with closing(Agent(instance)) as agent:
        assert told(instance, "show") == "The allowlist is empty: agents cannot reach private addresses.\n"
        assert error_of(agent.call("GET", upstream.url + path))["code"] == "DESTINATION_BLOCKED"

        told(instance, "add", "127.0.0.1", "--port", port)
        assert error_of(agent.call("GET", upstream.url + path))["code"] == "DESTINATION_BLOCKED"
        told(instance, "add", "127.0.0.1", "--port", port, "--private", "--note", "a test")
        assert listed(instance) == [{"host": "127.0.0.1", "ports": [int(port)], "private": True, "note": "a test"}]
        told(instance, "add", "Files.Example.com", "--port", "8443", "--port", "443")
        shown = told(instance, "show").splitlines()
        assert [line.split() for line in shown] == [
            ["HOST", "PORTS", "PRIVATE", "NOTE"],
            ["127.0.0.1", port, "yes", "a", "test"],
            ["Files.Example.com", "443,", "8443", "no"],
        ]
        assert agent.call("GET", upstream.url + path).status_code == 200

        told(instance, "remove", "files.example.com", "--yes")
        told(instance, "remove", "127.0.0.1", "--port", port, "--yes")
        assert listed(instance) == []
        assert error_of(agent.call("GET", upstream.url + path))["code"] == "DESTINATION_BLOCKED"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("remove", "nowhere.example.com"), "is not on the allowlist"),
        (("add", "10.0.0.1/8"), "host bits"),
        (("add", "*"), "a name, *.name"),
        (("add", "127.0.0.1:8443"), "without a port: ports are given separately"),
        (("add", "example.com:8443"), "without a port: ports are given separately"),
        (("add", "https://example.com/"), "is expected, not a URL"),
        (("add", "example.com", "--port", "0"), "--port"),
    ],
)
def test_what_is_wrong_is_said(
    instance: Instance, administrator: Administrator, words: tuple[str, ...], says: str
) -> None:
    before = administrator.get("/admin/settings/allowlist")
    done = instance.try_subcommand("allowlist", *words)
    assert done.returncode != 0
    assert says in done.stderr
    assert administrator.get("/admin/settings/allowlist") == before
