"""Which instance a client command speaks to: the nearest that somebody named."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from headgate.cli.gate_of_agent import find_gate
from headgate.cli.target import find_target
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import AgentAccess, joined_folder, write_access
from headgate.runtime.instance_pointer import point_to
from headgate.runtime.own_data import is_own, make_own
from headgate.runtime.runtime_file import RuntimeInformation, write_runtime_file

NOBODY = Secret("")
PLAIN = RuntimeInformation("", "", "", "", NOBODY, Secret("t"), "", NOBODY, NOBODY, {})


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime file in each place; each names itself by its URL."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("option", "variable", "here/.headgate", "data", "xdg/headgate"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        write_runtime_file(folder / "runtime.json", replace(PLAIN, api_url=f"http://{name.split('/')[0]}"))
    monkeypatch.chdir(tmp_path / "here")
    make_own(DataDirectory(tmp_path / "here" / ".headgate"))
    return tmp_path


def test_the_order_of_places(places: Path) -> None:
    environment = {"XDG_DATA_HOME": str(places / "xdg"), "XDG_STATE_HOME": str(places / "state")}
    assert find_target(None, environment).api_url == "http://here"
    environment["HEADGATE_DATA_DIR"] = str(places / "data")
    assert find_target(None, environment).api_url == "http://data"
    environment |= {"HEADGATE_API_URL": "http://remote/", "HEADGATE_TOKEN": "remote-token"}
    assert find_target(None, environment).api_url == "http://remote"
    assert find_target(None, environment).token == Secret("remote-token")
    environment["HEADGATE_RUNTIME_FILE"] = str(places / "variable" / "runtime.json")
    assert find_target(None, environment).api_url == "http://variable"
    assert find_target(places / "option" / "runtime.json", environment).api_url == "http://option"


@pytest.mark.parametrize("find", [find_target, find_gate])
def test_where_the_instance_of_this_folder_is_stopped_no_other_one_is_used(
    places: Path, find: Callable[[Path | None, Mapping[str, str]], object]
) -> None:
    """Else a stop or an approval that is meant for it reaches another instance of this machine."""
    environment = {"XDG_DATA_HOME": str(places / "xdg"), "XDG_STATE_HOME": str(places / "state")}
    point_to(places / "option" / "runtime.json", environment)
    joined = AgentAccess("http://joined", "http://joined:8080", "", "agt_1", Secret("key"))
    joined_folder(environment).mkdir(parents=True)
    write_access(joined_folder(environment), joined)
    folder = places / "here" / ".headgate"
    (folder / "runtime.json").unlink()
    with pytest.raises(UnavailableError) as refused:
        find(None, environment)
    assert f"the instance in {folder} is not running. Start it with headgate up" in refused.value.message
    assert find_target(places / "option" / "runtime.json", environment).api_url == "http://option"


def test_a_directory_that_came_with_the_folder_is_not_used(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a repository of somebody else: its files belong to whoever cloned it."""
    environment = {
        "XDG_DATA_HOME": str(places / "xdg"),
        "XDG_STATE_HOME": str(places / "state"),
        "HEADGATE_TOKEN": "bobs",
    }
    foreign = places / "cloned"
    shutil.copytree(places / "here" / ".headgate", foreign / ".headgate")
    monkeypatch.chdir(foreign)
    assert find_target(None, environment).api_url == "http://xdg"
    for mark in ("", "../" * 10 + "x", "0" * 32, "0" * 33):
        (foreign / ".headgate" / "mark").write_text(mark)
        assert find_target(None, environment).api_url == "http://xdg"
    environment["XDG_DATA_HOME"] = str(places / "nothing")
    with pytest.raises(UnavailableError, match="this user has started no instance there: if it is yours"):
        find_target(None, environment)
    environment["HEADGATE_DATA_DIR"] = ".headgate"
    assert find_target(None, environment).api_url == "http://here"


def test_a_directory_is_marked_once(places: Path) -> None:
    data = DataDirectory(places / "data")
    assert not is_own(data)
    make_own(data)
    mark = data.mark_file.read_bytes()
    make_own(data)
    assert is_own(data)
    assert data.mark_file.read_bytes() == mark
    assert data.mark_file.stat().st_mode & 0o777 == 0o600


def test_the_users_own_directory_comes_last(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    assert find_target(None, {"XDG_DATA_HOME": str(places / "xdg")}).api_url == "http://xdg"


def test_a_token_alone_is_somebody_at_the_instance_that_is_found(places: Path) -> None:
    environment = {"HEADGATE_TOKEN": "bobs", "HEADGATE_RUNTIME_FILE": str(places / "variable" / "runtime.json")}
    target = find_target(None, environment)
    assert (target.api_url, target.token) == ("http://variable", Secret("bobs"))


def test_a_token_with_the_instances_own_address_is_somebody_there(places: Path) -> None:
    environment = {
        "HEADGATE_RUNTIME_FILE": str(places / "variable" / "runtime.json"),
        "HEADGATE_API_URL": "http://variable/",
        "HEADGATE_TOKEN": "bobs",
    }
    assert find_target(None, environment).token == Secret("bobs")
    elsewhere = environment | {"HEADGATE_API_URL": "http://remote"}
    assert find_target(None, elsewhere).token == Secret("t")


def test_none_at_all_says_how_to_name_one(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    nowhere = str(places / "nothing")
    with pytest.raises(UnavailableError, match="headgate up"):
        find_target(None, {"XDG_DATA_HOME": nowhere, "XDG_STATE_HOME": nowhere})


def test_an_address_without_a_token_is_not_half_used(places: Path) -> None:
    assert (
        find_target(
            None, {"HEADGATE_API_URL": "http://remote", "XDG_DATA_HOME": "/x", "XDG_STATE_HOME": str(places / "state")}
        ).api_url
        == "http://here"
    )


def test_the_instance_that_was_started_last_is_found_from_any_folder(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(places)
    environment = {"XDG_DATA_HOME": str(places / "nothing"), "XDG_STATE_HOME": str(places / "state")}
    point_to(places / "option" / "runtime.json", environment)
    point_to(places / "variable" / "runtime.json", environment)
    assert find_target(None, environment).api_url == "http://variable"
    (places / "variable" / "runtime.json").unlink()  # it has stopped
    with pytest.raises(UnavailableError, match="no running instance"):
        find_target(None, environment)


def test_a_pointer_does_not_replace_a_data_directory_that_was_named(places: Path) -> None:
    environment = {"HEADGATE_DATA_DIR": str(places / "empty"), "XDG_STATE_HOME": str(places / "state")}
    point_to(places / "option" / "runtime.json", environment)
    with pytest.raises(UnavailableError, match="no running instance"):
        find_target(None, environment)
