"""Captured exchanges of an organization, stored as the masker stores them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headgate.db.database import Database
from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.model import Captured
from headgate.traffic.recording_store import record_exchanges
from headgate.traffic.sealed_exchange import seal_exchange
from tests.unit.traffic.samples import sample


@pytest.fixture
def api(running_api: Any) -> Any:
    return running_api


type Keep = Callable[..., Awaitable[list[Captured]]]


@pytest.fixture
def keep(api: Any, proxy_database: Database) -> Keep:
    """Stores exchanges of an organization as the masker does."""

    async def store(organization: Any, *changes: dict[str, Any]) -> list[Captured]:
        start = datetime.now(UTC) - timedelta(minutes=1)
        captured: list[Captured] = []
        for number, one in enumerate(changes):
            at = {"created_at": start + timedelta(seconds=number)}
            captured.append(sample(org_id=organization.org_id, agent_id=organization.agent_id, **at | one))
            await asyncio.sleep(0.002)  # identifiers of one millisecond are in no order
        async with api.dependencies.database.transaction(organization.org_id) as connection:  # as setting a rule does
            await api.dependencies.vault.make_first_keys(connection, organization.org_id)
        rows = [seal_exchange(one, mask_exchange(one), api.dependencies.vault) for one in captured]
        async with proxy_database.across_organizations() as connection:
            assert await record_exchanges(connection, rows) == len(rows)
        return captured

    return store
