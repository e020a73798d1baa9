"""Keys that should be replaced are told of once, whoever else looks at the same moment."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headgate.agents.keys import generate_key, hash_key
from headgate.agents.remind_rotation import remind_rotation
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id


def _key(superuser: Any, organization: Any, *, age_days: int, ends_in_days: int | None, revoked: bool = False) -> str:
    key_id, now = new_id(IdPrefix.KEY), datetime.now(UTC)
    superuser.execute(
        "INSERT INTO api_keys (org_id, key_id, kind, agent_id, display, key_hash, scopes, created_at, expires_at,"
        " revoked_at) VALUES (%s, %s, 'agent', %s, 'hg_x', %s, '{}', %s, %s, %s)",
        [
            organization.org_id,
            key_id,
            organization.agent_id,
            hash_key(generate_key().reveal()),
            now - timedelta(days=age_days),
            None if ends_in_days is None else now + timedelta(days=ends_in_days),
            now if revoked else None,
        ],
    )
    return key_id


def _told(superuser: Any, organization: Any) -> list[tuple[str, str]]:
    rows = superuser.execute(
        "SELECT payload FROM journal WHERE org_id = %s AND event_type = 'key.rotation_due'", [organization.org_id]
    ).fetchall()
    told = [json.loads(payload)["data"] for (payload,) in rows]
    return sorted((one["key_id"], one["reason"]) for one in told)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ({"age_days": 91, "ends_in_days": None}, "it is 90 days old"),
        ({"age_days": 91, "ends_in_days": 200}, "it is 90 days old"),
        ({"age_days": 84, "ends_in_days": 6}, "it ends soon"),
        ({"age_days": 84, "ends_in_days": 8}, None),
        ({"age_days": 5, "ends_in_days": 5}, None),
        ({"age_days": 89, "ends_in_days": None}, None),
        ({"age_days": 91, "ends_in_days": -1}, None),
        ({"age_days": 91, "ends_in_days": None, "revoked": True}, None),
    ],
)
async def test_which_keys(superuser, organization, worker_database, key: dict[str, Any], reason: str | None) -> None:
    key_id = _key(superuser, organization, **key)
    await remind_rotation(worker_database, system_clock)
    assert _told(superuser, organization) == ([] if reason is None else [(key_id, reason)])


async def test_once_though_several_look(superuser, organization, worker_database) -> None:
    ids = sorted(_key(superuser, organization, age_days=100, ends_in_days=None) for _ in range(20))
    counts = await asyncio.gather(*(remind_rotation(worker_database, system_clock) for _ in range(4)))
    assert sum(counts) >= 20
    assert await remind_rotation(worker_database, system_clock) == 0
    assert [key_id for key_id, _ in _told(superuser, organization)] == ids


async def test_the_worker_sees_no_hash(worker_database, organization) -> None:
    async with worker_database.transaction(organization.org_id) as connection:
        cursor = await connection.execute(
            "SELECT has_column_privilege('api_keys', 'key_hash', 'SELECT') AS may, current_user AS who"
        )
        row = await cursor.fetchone()
    assert (row["may"], row["who"]) == (False, "headgate_worker")
