"""A database of each test's own: which master keys are in use is a question over all organizations."""

from collections.abc import AsyncIterator

import pytest

from headgate.db.database import Database
from headgate.kernel.secrets import Secret
from tests.integration.conftest import Cluster


@pytest.fixture
def cluster(postgres_server, database_urls) -> Cluster:
    return Cluster(postgres_server, database_urls.name)


@pytest.fixture
async def api_database(cluster: Cluster) -> AsyncIterator[Database]:
    database = Database(Secret(cluster.dsn("headgate_api")))
    await database.open()
    yield database
    await database.close()
