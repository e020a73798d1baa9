"""What is printed can be typed: the name where it is on the PATH, the path where it is not."""

from pathlib import Path

import pytest

from headgate.cli.command_name import command_name, command_name_anywhere


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "headgate"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_name_where_a_shell_finds_it(installed: Path) -> None:
    assert command_name(str(installed), str(installed.parent)) == "headgate"


def test_the_path_where_no_shell_finds_it(installed: Path, tmp_path: Path) -> None:
    assert command_name(str(installed), str(tmp_path)) == str(installed)


def test_the_path_where_a_shell_finds_another(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "headgate"
    other.parent.mkdir()
    other.write_bytes(installed.read_bytes())
    other.chmod(0o755)
    assert command_name(str(installed), str(other.parent)) == str(installed)


def test_the_name_where_it_was_called_as_a_module(tmp_path: Path) -> None:
    assert command_name(str(tmp_path / "main.py"), str(tmp_path)) == "headgate"


def test_a_page_shows_it_for_a_shell_in_any_folder(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_name("bin/headgate", str(tmp_path)) == "bin/headgate"
    assert command_name_anywhere("bin/headgate", str(tmp_path)) == str(installed)
    assert command_name_anywhere(str(installed), str(installed.parent)) == "headgate"
    spaced = installed.parent.rename(tmp_path / "of two")
    assert command_name_anywhere(str(spaced / "headgate"), str(tmp_path)) == f"'{spaced}/headgate'"
