"""The runtime file: whole, private, and what semantics.md promises to scripts."""

import json
import stat
from pathlib import Path

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.runtime_file import RuntimeInformation, read_runtime_file, write_runtime_file

INFORMATION = RuntimeInformation(
    api_url="http://127.0.0.1:1",
    proxy_url="http://127.0.0.1:2",
    ca_cert="/data/public/ca.pem",
    agent_id="agt_1",
    agent_key=Secret("hg_key"),
    admin_token=Secret("token"),
    dashboard_url="http://127.0.0.1:1/",
    database_url=Secret("postgresql://u:p@/headgate"),
    redis_url=Secret("unix:///sock"),
    pids={"postgres": (1,), "valkey": (2,), "api": (3,), "worker": (4,), "proxy": (5, 6)},
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_runtime_file(tmp_path / "runtime.json", INFORMATION)
    assert read_runtime_file(tmp_path / "runtime.json") == INFORMATION


def test_its_members_are_the_contract(tmp_path: Path) -> None:
    write_runtime_file(tmp_path / "runtime.json", INFORMATION)
    document = json.loads((tmp_path / "runtime.json").read_text())
    assert list(document) == [
        "api_url", "proxy_url", "ca_cert", "agent_id", "agent_key", "admin_token", "dashboard_url", "database_url",
        "redis_url", "pids",
    ]  # fmt: skip
    assert document["agent_key"] == "hg_key"
    assert document["pids"]["proxy"] == [5, 6]


def test_it_is_private_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "runtime.json"
    file.write_text("old")
    file.chmod(0o644)
    write_runtime_file(file, INFORMATION)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched")
    (tmp_path / "runtime.json").symlink_to(tmp_path / "victim")
    write_runtime_file(tmp_path / "runtime.json", INFORMATION)
    assert (tmp_path / "victim").read_text() == "untouched"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"api_url": 1}', "null"])
def test_another_file_is_no_runtime_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "runtime.json").write_text(text)
    with pytest.raises(UnavailableError, match="is not a runtime file"):
        read_runtime_file(tmp_path / "runtime.json")


def test_a_missing_file_asks_whether_the_instance_runs(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="headgate up"):
        read_runtime_file(tmp_path / "runtime.json")


def test_secrets_are_not_shown() -> None:
    assert "hg_key" not in repr(INFORMATION)
    assert "u:p@" not in repr(INFORMATION)
