"""A database of each test's own: which master keys are in use is a question over all organizations."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from headgate.db.database import Database
from headgate.kernel.secrets import Secret
from tests.integration.conftest import Cluster
from tests.key_management import Service, service_of


@pytest.fixture
def cluster(postgres_server, database_urls) -> Cluster:
    return Cluster(postgres_server, database_urls.name)


@pytest.fixture
async def api_database(cluster: Cluster) -> AsyncIterator[Database]:
    database = Database(Secret(cluster.dsn("headgate_api")))
    await database.open()
    yield database
    await database.close()


@pytest.fixture(params=["aws", "transit"])
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with service_of(request.param, tmp_path, monkeypatch) as made:
        yield made
