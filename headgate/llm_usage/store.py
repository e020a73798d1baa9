"""The counters in the database: one row for each agent, model and day."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from msgspec import Struct

from headgate.db.database import Connection
from headgate.llm_usage.model import MODELS_MAX, OTHER_MODELS, Counts, ModelUse

_ADD: Final = "SELECT add_llm_usage(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_TODAY: Final = "SELECT used, applied FROM llm_usage_of_day(%s, %s, %s)"
_OF_AGENT: Final = """
    SELECT u.day, u.model, u.calls, u.tokens_in, u.tokens_cached, u.tokens_cache_written, u.tokens_out,
           u.estimated_calls
    FROM llm_usage u WHERE u.org_id = %s AND u.agent_id = %s AND u.day >= %s
    ORDER BY u.day DESC, u.tokens_in + u.tokens_out DESC, u.model
"""


class UsedModel(Struct, frozen=True):
    day: date
    model: str
    counts: Counts


async def add_usage(connection: Connection, org_id: str, uses: Sequence[ModelUse]) -> None:
    """In the transaction that writes how these executions ended."""
    if not uses:
        return
    summed: dict[tuple[str, str, str], Counts] = {}
    for use in uses:
        summed.setdefault((use.agent_id, use.day, use.model), Counts()).add(use.usage)
    # In one order everywhere: two appliers never wait for each other's rows.
    rows = sorted(summed.items())
    await connection.execute(
        _ADD,
        [
            org_id,
            MODELS_MAX,
            OTHER_MODELS,
            [agent_id for (agent_id, _, _), _ in rows],
            [day for (_, day, _), _ in rows],
            [model for (_, _, model), _ in rows],
            [counts.calls for _, counts in rows],
            [counts.tokens_in for _, counts in rows],
            [counts.tokens_cached for _, counts in rows],
            [counts.tokens_cache_written for _, counts in rows],
            [counts.tokens_out for _, counts in rows],
            [counts.estimated_calls for _, counts in rows],
        ],
    )


async def used_on(
    connection: Connection, org_id: str, day: str, executions: Sequence[str]
) -> tuple[list[tuple[str, str, Counts]], list[str]]:
    """What is on record of ``day``, by agent and model, and which of ``executions`` are: both of one moment."""
    row = await (await connection.execute(_TODAY, [org_id, day, list(executions)])).fetchone()
    if row is None:
        return [], []
    used: list[list[Any]] = json.loads(row["used"])
    rows = [(agent_id, model, Counts(*numbers)) for agent_id, model, *numbers in used]
    return rows, list(row["applied"])


async def usage_of_agent(connection: Connection, org_id: str, agent_id: str, since: date) -> list[UsedModel]:
    """Newest day first, and of each the model with the most tokens first."""
    rows = await (await connection.execute(_OF_AGENT, [org_id, agent_id, since])).fetchall()
    return [
        UsedModel(
            row["day"],
            row["model"],
            Counts(
                row["calls"],
                row["tokens_in"],
                row["tokens_cached"],
                row["tokens_cache_written"],
                row["tokens_out"],
                row["estimated_calls"],
            ),
        )
        for row in rows
    ]
