"""A draft of a policy against recorded calls, as its page shows it: how many would have been decided otherwise."""

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
from headgate.kernel.errors import UnavailableError, ValidationError

_MOST: Final = 5_000
"""Actions of one replay on a page, which is answered when it is over; the command line replays more."""
_HOURS: Final = ("1", "24", "168")


@dataclass(frozen=True, slots=True)
class ReplayShown:
    """``changes``: how many by kind ("allow -> deny"), most frequent first; ``operations``: the same by operation."""

    replayed: int
    changed: int
    failed: int
    changes: Mapping[str, int]
    operations: Sequence[Mapping[str, Any]]
    humans: Mapping[str, int]


async def replayed(api: Api, policy_id: str | None, rego_policy: str, priority: int, hours: str) -> ReplayShown:
    """Raises ValidationError (bad Rego, hours), ConflictError (another replay runs), UnavailableError."""
    if hours not in _HOURS:
        raise ValidationError(f"hours: choose one of {', '.join(_HOURS)}", details={"field": "hours"})
    start = api.dependencies.clock() - timedelta(hours=int(hours))
    body = checked(
        ReplayBody,
        {
            "policy_id": policy_id,
            "rego_policy": rego_policy,
            "priority": priority,
            "start_date": rfc3339(start),
            "limit": _MOST,
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
