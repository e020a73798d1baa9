"""Replays recorded calls with a policy draft and counts the changed decisions."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct

from admin_api.policies.replay_routes import replay
from admin_api.policies.replay_schemas import ReplayBody
from admin_api.web.api import Api
from admin_api.web.form import checked
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ValidationError
from headgate.policies.replay_run_store import ReplayRun

_MOST: Final = 5_000
"""Actions of one replay on a page; the command line replays more."""
_WAIT_SECONDS: Final = 1.5
"""A short replay is shown at once, without script too."""
_DAY: Final = timedelta(days=1)
_SPANS: Final = {"calls": 30 * _DAY, "1": _DAY / 24, "24": _DAY, "168": 7 * _DAY}
"""By what the form sends: the newest calls of a month, or all calls of the last hours."""
_NEWEST: Final = 1_000
_WHILE_TYPING: Final = 200


class ReplayShown(Struct, frozen=True):
    """``changes``: how many by kind ("allow -> deny"), most frequent first; ``operations``: the same by operation."""

    replayed: int
    changed: int
    failed: int
    changes: Mapping[str, int]
    operations: Sequence[Mapping[str, Any]]
    humans: Mapping[str, int]


class RunShown(Struct, frozen=True):
    """``done`` of ``total`` calls. ``failure``: why there is no ``shown``."""

    run: str
    is_running: bool
    done: int
    total: int
    shown: ReplayShown | None
    failure: str | None


def replay_body(
    api: Api, policy_id: str | None, rego_policy: str, priority: int, span: str, *, newest: int = _NEWEST
) -> ReplayBody:
    """Raises ValidationError."""
    if span not in _SPANS:
        raise ValidationError(f"span: choose one of {', '.join(_SPANS)}", details={"field": "span"})
    start = api.dependencies.clock() - _SPANS[span]
    return checked(
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


async def started(api: Api, body: ReplayBody, *, wait_seconds: float = _WAIT_SECONDS) -> RunShown:
    """Runs in the background, and answers with the result if that comes within the wait. Raises ForbiddenError,
    UnavailableError."""

    async def lines() -> AsyncIterator[Any]:
        return (await api.call(replay, body, api.principal, api.dependencies)).body_iterator.__aiter__()

    person = api.principal.actor.id
    runs = api.dependencies.replay_runs
    return _run_shown(await runs.start(api.principal.org_id, person, lines, wait_seconds=wait_seconds))


async def last_replay(api: Api) -> RunShown | None:
    """The person's own; None: there is none."""
    found = await api.dependencies.replay_runs.last(api.principal.org_id, api.principal.actor.id)
    return None if found is None else _run_shown(found)


def replaced(run: str) -> RunShown:
    return RunShown(run, False, 0, 0, None, "You have started another replay. It ended this one.")


def _run_shown(run: ReplayRun) -> RunShown:
    failure = run.failure
    if run.is_interrupted:
        failure = "The process ended before the replay did. Start it again."
    shown = None if run.report is None else _shown(json.loads(run.report))
    return RunShown(run.run, run.finished_at is None and not run.is_interrupted, run.done, run.total, shown, failure)


def _shown(report: Mapping[str, Any]) -> ReplayShown:
    return ReplayShown(
        report["replayed"],
        report["changed"],
        report["failed"],
        report["changes"],
        report["by_operation"],
        report["humans"],
    )


async def effect_while_typing(api: Api, policy_id: str | None, rego_policy: str, priority: int) -> str | None:
    """One sentence about the newest calls; None where another replay runs in this process."""
    body = replay_body(api, policy_id, rego_policy, priority, "calls", newest=_WHILE_TYPING)
    last: dict[str, Any] = {}
    async for line in (await api.call(replay, body, api.principal, api.dependencies)).body_iterator:
        last = json.loads(bytes(line) if isinstance(line, memoryview) else line)
    if last.get("type") != "report":
        return None
    shown = _shown(last)
    if not shown.changed:
        return f"No decision changes for the last {shown.replayed} calls."
    kinds = ", ".join(f"{count} {_words(kind)}" for kind, count in shown.changes.items())
    return f"The decision changes for {shown.changed} of the last {shown.replayed} calls: {kinds}."


def _words(change: str) -> str:
    return change.replace("require_approval", "hold").replace("->", "→")
