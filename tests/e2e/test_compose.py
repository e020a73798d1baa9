"""The parts, PostgreSQL and Valkey take what deploy/compose/secrets.sh makes: its files and variables, no container."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import psycopg
import pytest
import yaml

from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from headgate.runtime import postgres, valkey
from headgate.runtime.account import server_account
from headgate.runtime.folders import open_data_directory, socket_folder
from headgate.runtime.server_process import Program
from tests.e2e.external_servers import running
from tests.e2e.waiting import wait_for
from tests.free_port import free_port
from tests.transit_server import TOKEN, transit_server

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "compose"


@dataclass(frozen=True)
class Stack:
    """The secrets as made, and a database server that ran roles.sql."""

    secrets: Path
    folder: Path

    def environment(self, part: str) -> dict[str, str]:
        """The variables of this service, with the paths, ports and addresses of this machine."""
        document = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
        files = {name: one["file"].removeprefix("secrets/") for name, one in document["secrets"].items()}
        variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = document["services"][part]["environment"]
        for name, value in environment.items():
            if value.startswith("/run/secrets/"):
                variables[name] = str(self.secrets / files[value.removeprefix("/run/secrets/")])
            elif not value.startswith("${"):
                variables[name] = value
        return variables | {"HEADGATE_DATA_DIR": str(self.folder / part)}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("compose")
    secrets = folder / "secrets"
    make_secrets(secrets)
    data = DataDirectory(folder / "data")
    open_data_directory(data)
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    server = postgres.PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)
    password = Secret((secrets / "postgres" / "password").read_text().strip())
    asyncio.run(postgres.initialize(server, password))
    administrator = server.url("postgres", password, "postgres").reveal()
    valkey_port = free_port()
    configuration = secrets / "valkey" / "valkey.conf"
    cache = (str(valkey.binary()), str(configuration), "--port", str(valkey_port))
    with running(server.program()), running(Program("valkey", cache, os.environ, folder / "valkey.log")):
        wait_for(lambda: answers(administrator), "PostgreSQL answers", seconds=60)
        run_roles(folder, secrets, administrator)
        # Where the servers of this test are, instead of the containers of these names.
        for file in (secrets / "headgate").glob("*-database-url"):
            rewrite(file, "@postgres:5432/headgate", f"@/headgate?host={server.sockets}")
        rewrite(secrets / "headgate" / "redis-url", "@valkey:6379", f"@127.0.0.1:{valkey_port}")
        yield Stack(secrets, folder)


def make_secrets(folder: Path, **variables: str) -> None:
    """``secrets.sh`` as it is, with this checkout's program in place of the image's."""
    program = Path(sys.executable).parent / "headgate"
    environment = {**os.environ, "SECRETS": str(folder), "HEADGATE": str(program), "OWN": "no", **variables}
    done = subprocess.run([FOLDER / "secrets.sh"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run_roles(folder: Path, secrets: Path, administrator: str) -> None:
    """As PostgreSQL's image does: psql with the file, which finds the passwords beside it."""
    (folder / "initdb").mkdir()
    shutil.copy(FOLDER / "roles.sql", folder / "initdb")
    shutil.copy(secrets / "postgres" / "role-passwords.psql", folder / "initdb")
    program = [postgres.binaries() / "psql", "--no-psqlrc", "--quiet", "--file", folder / "initdb" / "roles.sql"]
    done = subprocess.run([*program, administrator], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def rewrite(file: Path, what: str, by: str) -> None:
    content = file.read_text()
    assert what in content
    file.chmod(0o600)
    file.write_text(content.replace(what, by))


def answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def is_ready(port: int) -> bool:
    try:
        return (
            httpx.get(f"http://127.0.0.1:{port}/readyz", verify=public_roots(), trust_env=False, timeout=10).status_code
            == 200
        )
    except httpx.HTTPError:
        return False


def headgate(stack: Stack, part: str, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "headgate.cli.main", *words]
    environment = stack.environment(part) | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_the_parts_become_ready_with_their_own_logins(stack: Stack) -> None:
    migrated = headgate(stack, "migrate", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    again = headgate(stack, "migrate", "migrate")
    assert (again.returncode, again.stdout) == (0, "up to date\n"), again.stderr
    # Where the file mounts the key of sign-in links.
    issuer = stack.folder / "api" / "issuer"
    issuer.mkdir(parents=True)
    shutil.copy(stack.secrets / "headgate" / "keys" / "local-issuer.pem", issuer)
    with ExitStack() as parts:
        ports: dict[str, int] = {}
        api_port = free_port()
        for part in ("api", "worker", "proxy"):
            ports[part] = free_port()
            environment = stack.environment(part) | {
                "HEADGATE_MONITOR_ADDRESS": f"127.0.0.1:{ports[part]}",
                "HEADGATE_DRAIN_SECONDS": "0",
                "HEADGATE_PROXY_WORKERS": "1",
                "HEADGATE_API_PORT": str(api_port),
                "HEADGATE_PROXY_PORT": str(free_port()),
            }
            command = (sys.executable, "-P", "-m", "headgate.cli.main", part)
            parts.enter_context(running(Program(part, command, environment, stack.folder / f"{part}.log")))
        for part, port in ports.items():
            wait_for(lambda port=port: is_ready(port), f"the {part} is ready", seconds=120)
        public = "https://gate.example.com"
        link = headgate(stack, "api", "login", "--print-url", HEADGATE_PUBLIC_API_URL=public)
        assert link.returncode == 0, link.stderr
        assert link.stdout.startswith(public)
        connect_an_agent(stack, api_port)
    logs = "".join((stack.folder / f"{part}.log").read_text() for part in ports)
    passwords = re.findall(r"'([0-9a-f]{64})'", (stack.secrets / "postgres" / "role-passwords.psql").read_text())
    assert len(set(passwords)) == 4
    assert not [one for one in passwords if one in logs + (stack.folder / "data" / "logs" / "postgres.log").read_text()]


def connect_an_agent(stack: Stack, api_port: int) -> None:
    """The commands of docs/guides/compose.md, in the API's container there."""
    address = {"HEADGATE_API_URL": f"http://127.0.0.1:{api_port}", "HOME": str(stack.folder / "api")}
    token = headgate(stack, "api", "token", "--user", "administrator", "--role", "admin")
    assert token.returncode == 0, token.stderr
    created = headgate(
        stack, "api", "agents", "create", "billing", "--json", **address, HEADGATE_TOKEN=token.stdout.strip()
    )
    assert created.returncode == 0, created.stderr
    [key] = set(re.findall(r"hg_\w+", created.stdout))
    shown = headgate(stack, "api", "env", "--format", "docker", **address, HEADGATE_AGENT_KEY=key)
    assert shown.returncode == 0, shown.stderr
    first, *variables = shown.stdout.splitlines()
    assert any(key in one for one in variables)
    match = re.search(r"-v (\S+):/etc/headgate:ro", first)
    assert match is not None, first
    certificates = (stack.secrets / "headgate" / "keys" / "ca-certificates.pem").read_bytes()
    assert (Path(match[1]) / "ca.pem").read_bytes() == certificates


def test_a_part_cannot_do_what_another_may(stack: Stack) -> None:
    url = (stack.secrets / "headgate" / "proxy-database-url").read_text().strip()
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "CREATE TABLE mine (x int)",
            "SET ROLE headgate_owner",
            "CREATE ROLE another",
            "INSERT INTO organizations (org_id) VALUES ('other')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_running_it_again_changes_nothing(stack: Stack) -> None:
    before = {one: one.read_bytes() for one in stack.secrets.rglob("*") if one.is_file()}
    make_secrets(stack.secrets)
    assert {one: one.read_bytes() for one in stack.secrets.rglob("*") if one.is_file()} == before
    assert {one.stat().st_mode & 0o777 for one in before} == {0o400}
    assert stack.secrets.joinpath("headgate").stat().st_mode & 0o777 == 0o700


def test_a_kms_wraps_the_master_key_and_the_file_beside_it_says_where(tmp_path: Path) -> None:
    with transit_server() as vault:
        secrets = tmp_path / "secrets"
        make_secrets(secrets, KMS="hashivault://master", VAULT_ADDR=vault.url, VAULT_TOKEN=TOKEN)
        token = secrets / "headgate" / "vault-token"
        token.write_text(TOKEN)
        make_secrets(secrets)  # gives it to its reader, as the guide says
        assert token.stat().st_mode & 0o777 == 0o400
        service = yaml.safe_load((FOLDER / "kms.yaml").read_text("utf-8"))["services"]["api"]
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "HEADGATE_MASTER_KEYS_FILE": str(secrets / "headgate" / "keys" / "master-keys.json"),
            **dict.fromkeys(service["environment"], ""),
            "VAULT_ADDR": vault.url,
            "HEADGATE_VAULT_TOKEN_FILE": str(token),
        }
        command = [sys.executable, "-P", "-m", "headgate.cli.main", "secrets", "unwrap"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "in the clear" in done.stdout


def test_every_secret_of_the_file_is_made(stack: Stack) -> None:
    document = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    made = {f"secrets/{one.relative_to(stack.secrets)}" for one in stack.secrets.rglob("*") if one.is_file()}
    assert {one["file"] for one in document["secrets"].values()} == made
