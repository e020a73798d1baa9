"""Replays recorded calls with a policy draft and counts the changed decisions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from admin_api.policies.replay_routes import replay
from admin_api.policies.replay_schemas import ReplayBody
from admin_api.web.api import Api
from admin_api.web.form import checked
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, UnavailableError, ValidationError

_MOST: Final = 5_000
"""Actions of one replay on a page, which is answered when it is over; the command line replays more."""
_DAY: Final = timedelta(days=1)
_SPANS: Final = {"calls": 30 * _DAY, "1": _DAY / 24, "24": _DAY, "168": 7 * _DAY}
"""By what the form sends: the newest calls of a month, or all calls of the last hours."""
_NEWEST: Final = 1_000
_WHILE_TYPING: Final = 200


@dataclass(frozen=True, slots=True)
class ReplayShown:
    """``changes``: how many by kind ("allow -> deny"), most frequent first; ``operations``: the same by operation."""

    replayed: int
    changed: int
    failed: int
    changes: Mapping[str, int]
    operations: Sequence[Mapping[str, Any]]
    humans: Mapping[str, int]


async def replayed(
    api: Api, policy_id: str | None, rego_policy: str, priority: int, span: str, *, newest: int = _NEWEST
) -> ReplayShown:
    """Raises ValidationError (bad Rego, span), ConflictError (another replay runs), UnavailableError."""
    if span not in _SPANS:
        raise ValidationError(f"span: choose one of {', '.join(_SPANS)}", details={"field": "span"})
    start = api.dependencies.clock() - _SPANS[span]
    body = checked(
        ReplayBody,
        {
            "policy_id": policy_id,
            "rego_policy": rego_policy,
            "priority": priority,
            "start_date": rfc3339(start),
            "limit": _MOST,
            "newest": newest if span == "calls" else None,
        },
    )
    answer = await api.call(replay, body, api.principal, api.dependencies)
    last: dict[str, Any] = {}
    async for line in answer.body_iterator:
        last = json.loads(bytes(line) if isinstance(line, memoryview) else line)
    if last.get("type") != "report":
        raise UnavailableError(str(last.get("message", "The replay ended without a report.")))
    return ReplayShown(
        last["replayed"], last["changed"], last["failed"], last["changes"], last["by_operation"], last["humans"]
    )


async def effect_while_typing(api: Api, policy_id: str | None, rego_policy: str, priority: int) -> str | None:
    """One sentence about the newest calls; None where another replay runs in this process."""
    try:
        shown = await replayed(api, policy_id, rego_policy, priority, "calls", newest=_WHILE_TYPING)
    except (ConflictError, UnavailableError):
        return None
    if not shown.changed:
        return f"No decision changes for the last {shown.replayed} calls."
    kinds = ", ".join(f"{count} {_words(kind)}" for kind, count in shown.changes.items())
    return f"The decision changes for {shown.changed} of the last {shown.replayed} calls: {kinds}."


def _words(change: str) -> str:
    return change.replace("require_approval", "hold").replace("->", "→")
