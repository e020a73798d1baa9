"""A data directory with an embedded database that has an organization and some events, and nobody who uses it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.backup.source import running_server
from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import Settings, read_settings
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import open_local_issuer
from headgate.runtime import postgres
from headgate.runtime.database_roles import OWNER, prepare_database
from headgate.runtime.folders import open_data_directory
from headgate.runtime.postgres import SUPERUSER
from headgate.runtime.secrets_file import load_secrets
from headgate.runtime.seed import seed_organization
from headgate.runtime.servers import postgres_of
from headgate.vault.master_keys import create_master_keys
from proxy.authority import Authority

PASSPHRASE = "correct horse battery staple"

type Command = subprocess.CompletedProcess[str]
type Run = Callable[..., Command]


@contextmanager
def opened(folder: Path) -> Iterator[str]:
    """The superuser's address of the embedded database, made where there is none, for as long as the block runs."""
    with asyncio.Runner() as runner:
        server = _opened(folder)
        try:
            yield runner.run(server.__aenter__()).reveal()
        finally:
            runner.run(server.__aexit__(None, None, None))


@asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[Secret]:
    settings = replace(read_settings({}), data_dir=folder)
    data = DataDirectory(folder)
    open_data_directory(data)
    secrets = load_secrets(data)
    server = postgres_of(settings)
    await postgres.initialize(server, secrets.passwords[SUPERUSER])
    async with running_server(server, secrets.passwords[SUPERUSER]):
        await prepare_database(server, secrets)
        await seed_organization(server.url(OWNER, secrets.passwords[OWNER]), system_clock)
        yield server.url(SUPERUSER, secrets.passwords[SUPERUSER])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the module: making a cluster takes seconds."""
    folder = tmp_path_factory.mktemp("made") / "data"
    with opened(folder):
        data = DataDirectory(folder)
        Authority(data.authority, data.public).open(system_clock())
        open_local_issuer(data.issuer)
        create_master_keys(data.master_keys)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """``headgate WORDS`` as a person runs it; settings by name."""
    folder = tmp_path_factory.mktemp("shell")

    def call(*words: str | Path, **settings: str) -> Command:
        return subprocess.run(
            command(*words), cwd=folder, env=environment(**settings), capture_output=True, text=True, check=False,
            timeout=200,
        )  # fmt: skip

    return call


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "headgate.cli.main", *map(str, words)]


def environment(**settings: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return inherited | settings


def settings_of(folder: Path) -> Settings:
    return replace(read_settings({}), data_dir=folder)


@pytest.fixture(scope="module")
def backup(made: Path, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encrypted, of the stopped instance in ``made``."""
    file = tmp_path_factory.mktemp("backups") / "one.backup"
    done = run("backup", "create", "--data-dir", made, "--output", file, HEADGATE_BACKUP_PASSPHRASE=PASSPHRASE)
    assert done.returncode == 0, done.stderr
    return file
