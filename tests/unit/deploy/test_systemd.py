"""The units of deploy/systemd: what systemd says of them, and that their files, settings and commands exist."""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from headgate.cli.key_files import create_key_files
from headgate.cli.main import headgate
from headgate.configuration.settings import all_variables, file_variable_of, read_settings

FOLDER: Final = Path(__file__).resolve().parents[3] / "deploy" / "systemd"
PARTS: Final = ("api", "worker", "proxy", "migrate")
_INSTALLED: Final = "/opt/headgate/bin/headgate"
# What systemd-analyze security calls OK ends at 3 of 10; ours were 1.4 and below in November 2026.
_EXPOSURE_MAX_TENTHS: Final = "20"


def analyze(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("systemd-analyze")
    assert program is not None, "systemd-analyze is needed to test the units (Debian: apt-get install systemd)"
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def directives(part: str) -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in (FOLDER / f"headgate-{part}.service").read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return found


def variables(part: str) -> dict[str, str]:
    return dict(one.split("=", 1) for one in directives(part)["Environment"])


def general() -> dict[str, str]:
    lines = (FOLDER / "headgate.env").read_text("utf-8").splitlines()
    return dict(one.split("=", 1) for one in lines if one and not one.startswith("#"))


@pytest.mark.parametrize("part", PARTS)
def test_systemd_finds_nothing_wrong_and_little_exposed(part: str, tmp_path: Path) -> None:
    unit = tmp_path / f"headgate-{part}.service"
    program = Path(sys.executable).parent / "headgate"
    unit.write_text((FOLDER / unit.name).read_text("utf-8").replace(_INSTALLED, str(program)))
    verified = analyze("verify", "--man=no", unit)
    assert (verified.returncode, verified.stderr) == (0, "")
    measured = analyze("security", "--offline=yes", "--no-pager", f"--threshold={_EXPOSURE_MAX_TENTHS}", unit)
    assert measured.returncode == 0, measured.stdout


@pytest.mark.parametrize("part", PARTS)
def test_each_unit_runs_a_command_with_settings_that_exist(part: str) -> None:
    assert directives(part)["ExecStart"] == [f"{_INSTALLED} {part}"]
    assert part in headgate.list_commands(headgate.make_context("headgate", [], resilient_parsing=True))
    known = {one.name for one in all_variables()} | {file_variable_of(one) for one in all_variables()}
    secret = {one.name for one in all_variables() if one.is_secret}
    assert set(variables(part)) | set(general()) <= known
    assert not (set(variables(part)) | set(general())) & secret
    read_settings(general())


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_handed_its_own_files_only(part: str, tmp_path: Path) -> None:
    handed = dict(one.split(":", 1) for one in directives(part)["LoadCredential"])
    named = {value.removeprefix("%d/") for value in variables(part).values() if value.startswith("%d/")}
    assert named == set(handed)
    login = "owner" if part == "migrate" else part
    assert handed["database-url"] == f"/etc/headgate/{login}-database-url"
    keys = {path.removeprefix("/etc/headgate/keys/") for path in handed.values() if "/keys/" in path}
    assert keys <= set(create_key_files(tmp_path / "keys"))
    assert ("ca.pem" in keys) == (part == "proxy")


@pytest.mark.parametrize("part", ["api", "worker", "proxy"])
def test_a_part_has_the_time_to_drain_and_starts_again(part: str) -> None:
    found = directives(part)
    assert found["TimeoutStopSec"] == ["315"]
    assert found["Restart"] == ["always"]
    assert found["WantedBy"] == ["multi-user.target"]


def test_what_the_parts_need_of_the_system_is_not_taken_away() -> None:
    for part in PARTS:
        found = directives(part)
        # The masker lowers its priority, children that evaluate policies limit themselves, the API reads /proc/meminfo.
        assert "@resources" not in " ".join(found["SystemCallFilter"])
        assert "ProcSubset" not in found


def test_the_guide_installs_every_file_that_is_handed_over() -> None:
    guide = (FOLDER.parents[1] / "docs" / "guides" / "systemd.md").read_text("utf-8")
    loaded = "\n".join(one for part in PARTS for one in directives(part)["LoadCredential"])
    handed = set(re.findall(r":/etc/headgate/([\w-]+-url)$", loaded, re.MULTILINE))
    assert handed
    assert [one for one in handed if one not in guide] == []
