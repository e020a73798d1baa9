"""An agent is named by name or id; nothing is done to one of several that have a name."""

from collections.abc import Iterator

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import agents as agents_commands
from headgate.cli.agent_name import agent_id_if_named, agent_id_of, agent_names_of
from headgate.cli.api_client import ApiClient
from headgate.kernel.errors import NotFoundError, ValidationError
from tests.answering_api import answering_api

AGENTS = [
    ("agt_1", "Mail bot", "active"),
    ("agt_2", "Mail bot two", "active"),
    ("agt_3", "twin", "active"),
    ("agt_4", "twin", "suspended"),
    ("agt_5", "successor", "deactivated"),
    ("agt_6", "successor", "suspended"),
    ("agt_7", "gone", "deactivated"),
]


@pytest.fixture
def client() -> Iterator[ApiClient]:
    """An API that answers with one agent a page."""

    def answer(request: httpx.Request) -> httpx.Response:
        place = int(request.url.params.get("cursor", "0"))
        agent_id, name, status = AGENTS[place]
        following = str(place + 1) if place + 1 < len(AGENTS) else None
        data = [{"id": agent_id, "name": name, "status": status}]
        return httpx.Response(200, json={"data": data, "pagination": {"next_cursor": following}})

    with answering_api(answer) as client:
        yield client


@pytest.mark.parametrize(
    ("named", "agent_id"),
    [("agt_9", "agt_9"), ("Mail bot", "agt_1"), ("successor", "agt_6"), ("gone", "agt_7")],
)
def test_a_name_stands_for_its_agent(client: ApiClient, named: str, agent_id: str) -> None:
    assert agent_id_of(client, named) == agent_id
    assert agent_id_if_named(client, named) == agent_id


def test_who_names_none_means_all(client: ApiClient) -> None:
    assert agent_id_if_named(client, None) is None


def test_a_name_of_several_is_refused_with_their_ids(client: ApiClient) -> None:
    with pytest.raises(ValidationError, match=r"2 agents have the name twin\. Use an id:\n  agt_3\n  agt_4"):
        agent_id_of(client, "twin")


@pytest.mark.parametrize("named", ["Mail", "mail bot", "../agents"])
def test_a_name_that_is_nearly_one_is_none(client: ApiClient, named: str) -> None:
    with pytest.raises(NotFoundError, match="no agent "):
        agent_id_of(client, named)


def test_the_names_of_some_for_a_table(client: ApiClient) -> None:
    names = agent_names_of(client, ["agt_2", None])
    assert (names["agt_2"], "agt_7" in names) == ("Mail bot two", False)
    assert agent_names_of(client, ["agt_9"])["agt_5"] == "successor"  # five pages at most
    assert "agt_6" not in agent_names_of(client, ["agt_9"])
    assert agent_names_of(client, [None]) == {}


def test_who_may_not_list_agents_sees_ids() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        return httpx.Response(403, json={"error": {"code": "FORBIDDEN", "message": "no"}})

    with answering_api(refuse) as client:
        assert agent_names_of(client, ["agt_1"]) == {}


def test_a_new_agents_key_is_shown_whatever_the_list_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown only once."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(201, json={"id": "agt_1", "api_key": {"key": "hg_shown_once"}})
        return httpx.Response(403, json={"error": {"code": "FORBIDDEN", "message": "no"}})

    with answering_api(answer) as client:
        monkeypatch.setattr(agents_commands, "find_target", lambda _: None)
        monkeypatch.setattr(agents_commands, "ApiClient", lambda _: client)
        result = CliRunner().invoke(agents_commands.create, ["robot"])
    assert (result.exit_code, result.stdout) == (0, "hg_shown_once\n"), result.output
