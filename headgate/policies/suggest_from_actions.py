"""Suggests a policy from recorded actions: only executed ones, which a policy or a person allowed."""

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from headgate.actions.replay_store import RecordedAction, ReplayRange, recorded_actions
from headgate.db.database import Database
from headgate.journal.apply import apply_before_reading
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import MASK
from headgate.policies.replay import replay_call
from headgate.policies.seen_calls import SeenCall
from headgate.policies.suggest import Precision, Suggestion, suggest

_PAGE_ACTIONS: Final = 100
_MOST_BYTES: Final = 32 << 20
"""The total recorded size of the requests; in memory they take ten times that."""


async def suggest_policy(
    database: Database,
    org_id: str,
    wanted: ReplayRange,
    *,
    name: str,
    precision: Precision,
    seldom: int,
    most: int,
) -> Suggestion:
    """Runs in threads, because a day's actions take seconds. Raises ValidationError (more than fits in memory),
    UnavailableError."""
    seen: list[SeenCall] = []
    size = 0
    after, left = None, most
    await apply_before_reading(database, org_id)
    while left > 0:
        async with database.transaction(org_id) as connection:
            page = await recorded_actions(connection, org_id, wanted, after=after, limit=min(_PAGE_ACTIONS, left))
        if not page:
            break
        allowed = [one for one in page if _was_allowed(one) and one.request is not None]
        size += sum(len(one.request or "") for one in allowed)
        if size > _MOST_BYTES:
            raise ValidationError(
                f"the actions of this range hold more than {_MOST_BYTES >> 20} MB: name a shorter one, an agent,"
                f" or a limit below {most - left + len(page)}",
                details={"field": "limit", "reason": "too much", "max_bytes": _MOST_BYTES},
            )
        seen += await asyncio.to_thread(_all_seen, allowed)
        after, left = page[-1].action_id, left - len(page)
    return await asyncio.to_thread(suggest, seen, name=name, precision=precision, seldom=seldom)


def _all_seen(actions: Sequence[RecordedAction]) -> list[SeenCall]:
    return [_seen(one) for one in actions]


def _was_allowed(one: RecordedAction) -> bool:
    return one.human == "approved" or (one.decision == "allow" and one.human is None)


def _seen(one: RecordedAction) -> SeenCall:
    request = one.request or "{}"
    document = replay_call(
        request=request,
        tool=one.tool,
        operation=one.operation,
        source=one.source,
        agent_id=one.agent_id,
        agent_name=one.agent_name,
    ).document
    recorded = json.loads(request)
    # Headers are not matched, so a masked header does not matter.
    told = json.dumps([recorded.get("params"), (recorded.get("http") or {}).get("query")], ensure_ascii=False)
    return SeenCall(one.agent_id, one.agent_name, one.tool, one.operation, document, MASK in told)
