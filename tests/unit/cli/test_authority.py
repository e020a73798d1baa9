"""``headgate ca export`` replaces certificates and nothing else."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headgate.cli.main import headgate
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import ConflictError
from proxy.authority import Authority


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    data = DataDirectory(tmp_path / "data")
    Authority(data.authority, data.public).open(datetime.now(UTC))
    return data


def export(data: DataDirectory, output: Path) -> Result:
    return CliRunner().invoke(headgate, ["ca", "export", "--data-dir", str(data.root), "--output", str(output)])


def test_it_writes_and_writes_again(data: DataDirectory, tmp_path: Path) -> None:
    output = tmp_path / "gate.pem"
    assert export(data, output).exit_code == 0
    assert output.read_bytes() == (data.public / "ca.pem").read_bytes()
    Authority(data.authority, data.public).rotate(datetime.now(UTC))
    assert export(data, output).exit_code == 0
    assert output.read_bytes() == (data.public / "ca.pem").read_bytes()
    assert output.read_bytes().count(b"BEGIN CERTIFICATE") == 2


def test_an_empty_file_is_filled(data: DataDirectory, tmp_path: Path) -> None:
    output = tmp_path / "gate.pem"
    output.touch()
    assert export(data, output).exit_code == 0
    assert b"BEGIN CERTIFICATE" in output.read_bytes()


@pytest.mark.parametrize("held", ["notes", "{certificate}notes", "{key}", "{certificate}{key}"])
def test_anything_else_stays(data: DataDirectory, tmp_path: Path, held: str) -> None:
    certificate = (data.public / "ca.pem").read_text()
    key = (data.authority / "mitmproxy-ca.pem").read_text()
    output = tmp_path / "notes.txt"
    output.write_text(held.format(certificate=certificate, key=key))
    before = output.read_bytes()
    assert isinstance(export(data, output).exception, ConflictError)
    assert output.read_bytes() == before


def test_nothing_is_written_through_a_link(data: DataDirectory, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    output = tmp_path / "link"
    output.symlink_to(target)
    assert isinstance(export(data, output).exception, ConflictError)
    assert target.read_text() == "precious"
