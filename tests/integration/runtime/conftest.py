"""An instance's folders, and a supervisor that leaves nothing running."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.configuration.data_directory import DataDirectory
from headgate.runtime import postgres
from headgate.runtime.account import server_account
from headgate.runtime.folders import open_data_directory, socket_folder
from headgate.runtime.postgres import PostgresServer
from headgate.runtime.secrets_file import InstanceSecrets, load_secrets
from headgate.runtime.supervisor import Supervisor


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    data = DataDirectory(tmp_path / "data")
    open_data_directory(data)
    return data


@pytest.fixture
def secrets(data: DataDirectory) -> InstanceSecrets:
    return load_secrets(data)


@pytest.fixture
def server(data: DataDirectory) -> PostgresServer:
    account = server_account([postgres.binaries() / "postgres", data.postgres])
    return PostgresServer(data.postgres, socket_folder(data, account), data.logs / "postgres.log", account)


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(jitter=lambda: 0.0)
    yield supervisor
    await supervisor.stop([])
