"""From recorded actions to a suggested policy: only what was carried out, because a policy or a person allowed it."""

import json
from typing import Final

from headgate.actions.replay_store import RecordedAction, ReplayRange, recorded_actions
from headgate.db.database import Database
from headgate.kernel.secrets import MASK
from headgate.policies.replay import replay_call
from headgate.policies.suggest import Precision, SeenCall, Suggestion, suggest

_PAGE_ACTIONS: Final = 500


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
    """Raises UnavailableError."""
    seen: list[SeenCall] = []
    after, left = None, most
    while left > 0:
        async with database.transaction(org_id) as connection:
            page = await recorded_actions(connection, org_id, wanted, after=after, limit=min(_PAGE_ACTIONS, left))
        if not page:
            break
        seen += [_seen(one) for one in page if _was_allowed(one) and one.request is not None]
        after, left = page[-1].action_id, left - len(page)
    return suggest(seen, name=name, precision=precision, seldom=seldom)


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
    # Headers are not matched, so that a masked one is no obstacle.
    told = json.dumps([recorded.get("params"), (recorded.get("http") or {}).get("query")], ensure_ascii=False)
    return SeenCall(one.agent_id, one.agent_name, one.tool, one.operation, document, MASK in told)
