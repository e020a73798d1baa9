"""A database and an API of each test's own: health is about the secrets of all organizations, and the process."""

import pytest

from tests.integration.conftest import Cluster


@pytest.fixture
def cluster(postgres_server, database_urls) -> Cluster:
    return Cluster(postgres_server, database_urls.name)


@pytest.fixture
def running_api(own_api):
    return own_api
