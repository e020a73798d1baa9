"""The API as it runs, in a thread of this process, for clients that wait: a database and an organization of its own."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from admin_api.process_settings import ApiSettings
from headgate.configuration.data_directory import DataDirectory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.local_issuer import open_local_issuer
from headgate.runtime.seed import seed_organization
from tests.api_in_thread import api_in_thread
from tests.contract.credentials import Credentials, with_new_agent


@dataclass(frozen=True)
class RunningApi:
    url: str
    token: str
    nobodys_token: str
    credentials: Credentials
    data_dir: Path


@pytest.fixture(scope="session")
def api(postgres_server, valkey_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApi]:
    """With the tokens of somebody who may do everything, second factor included, and of somebody without a role."""
    urls = postgres_server.create_database()
    asyncio.run(seed_organization(Secret(urls.owner), system_clock))
    folder = tmp_path_factory.mktemp("contract")
    SigningKeySource(DataDirectory(folder).signing_keys).create()  # as the worker does with its first checkpoint
    settings = ApiSettings(Secret(urls.api), Secret(valkey_url), folder, port=0, rate_limits=False)
    issuer = open_local_issuer(settings.data.issuer)
    with api_in_thread(settings) as started:
        credentials = with_new_agent(started.url, issuer)
        yield RunningApi(
            started.url, credentials.token("contract"), credentials.token("nobody", roles=()), credentials, folder
        )
    postgres_server.drop_database(urls.name)
