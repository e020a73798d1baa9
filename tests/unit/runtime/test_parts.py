"""What a part is told when it is started: its own login, and no other."""

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.configuration.settings import Part, read_settings
from headgate.kernel.secrets import Secret
from headgate.runtime.parts import child_environment
from headgate.runtime.secrets_file import InstanceSecrets
from headgate.runtime.servers import Servers, brings_database

SETTINGS = replace(
    read_settings({"HEADGATE_DATA_DIR": "/data", "HEADGATE_API_PORT": "1", "HEADGATE_PROXY_PORT": "2"}),
    command_name="/opt/headgate/bin/headgate",
)
SERVERS = Servers(
    databases={part: Secret(f"postgresql://headgate_{part}:pw-{part}@/x") for part in Part},
    administrator=Secret("postgresql://postgres:pw-admin@/x"),
    valkey=Secret("unix:///sock"),
    secrets=InstanceSecrets({}),
)


@pytest.mark.parametrize("part", [Part.API, Part.PROXY, Part.WORKER])
def test_a_part_gets_its_own_login_and_no_other(part: Part) -> None:
    environment = {"PATH": "/bin", "HEADGATE_DATABASE_URL": "postgresql://all", "HEADGATE_OWNER_DATABASE_URL": "x"}
    given = child_environment(environment, part, SETTINGS, SERVERS)
    passwords = {name for name, value in given.items() if "pw-" in value}
    assert passwords == {f"HEADGATE_{part.name}_DATABASE_URL"}
    assert "HEADGATE_DATABASE_URL" not in given
    assert given["PATH"] == "/bin"
    assert given["HEADGATE_API_PORT"] == "1"


def test_a_part_understands_what_it_is_told() -> None:
    told = read_settings(child_environment({}, Part.PROXY, SETTINGS, SERVERS))
    assert told.data_dir == Path("/data")
    assert told.api_url == SETTINGS.api_url
    assert told.proxy_port == 2
    assert told.command_name == "/opt/headgate/bin/headgate"
    assert told.redis_url == SERVERS.valkey
    assert told.database_url_of(Part.PROXY) == SERVERS.databases[Part.PROXY]


def test_a_part_finds_files_that_were_named_from_our_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca.pem").touch()
    monkeypatch.chdir(tmp_path)
    given = {"HEADGATE_UPSTREAM_CA_FILE": "ca.pem", "HEADGATE_DATA_DIR": "data"}
    told = child_environment(given, Part.PROXY, read_settings(given), SERVERS)
    monkeypatch.chdir("/")
    assert read_settings(told).upstream_ca_file == tmp_path / "ca.pem"
    assert read_settings(told).data_dir == tmp_path / "data"


def test_a_worker_finds_fonts_that_were_named_from_our_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"HEADGATE_REPORT_FONTS": "one.ttf, folder of/two.otf,/three.ttc"}
    told = child_environment(given, Part.WORKER, read_settings(given), SERVERS)
    monkeypatch.chdir("/")
    assert read_settings(told).report_fonts == (
        tmp_path / "one.ttf", tmp_path / "folder of/two.otf", Path("/three.ttc"),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["HEADGATE_DATABASE_URL", "HEADGATE_PROXY_DATABASE_URL"])
def test_any_address_of_a_database_means_no_own_one(name: str) -> None:
    assert brings_database(read_settings({}))
    assert not brings_database(read_settings({name: "postgresql://db/x"}))
