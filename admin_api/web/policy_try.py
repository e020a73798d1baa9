"""Shows the effect of a policy draft: checks it, runs its cases, and replays recorded calls. Drafts are not stored."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from admin_api.policies.check_routes import check
from admin_api.policies.test_routes import test
from admin_api.policies.test_schemas import PoliciesToTest, TestReportAnswer
from admin_api.web.api import Api
from admin_api.web.form import Form, checked, whole_number
from admin_api.web.policy_cases import cases_of
from admin_api.web.policy_draft import Draft, body_to_check
from admin_api.web.replay import RunShown, replay_body, started
from headgate.kernel.errors import HeadgateError

TRIES: Final = ("check", "test", "replay")
"""The buttons that store nothing."""


class Said(Struct, frozen=True):
    """About what was sent. ``line`` is of the source, from 1 on. ``cases_fail``: it was not saved because of this."""

    message: str | None = None
    line: int | None = None
    warnings: Sequence[str] = ()
    is_valid: bool = False
    replay: RunShown | None = None
    tests: TestReportAnswer | None = None
    cases_fail: bool = False
    status: int = 200


async def tried(api: Api, policy_id: str | None, form: Form, draft: Draft) -> Said:
    """Checks a draft; with ``test`` also runs its cases, with ``replay`` also counts changed decisions."""
    try:
        answer = await api.call(check, body_to_check(policy_id, draft), api.principal, api.dependencies)
        match form.text("act"):
            case "replay":
                span, priority = form.text("span"), whole_number(draft.priority, "priority")
                run = await started(api, replay_body(api, policy_id, draft.rego_policy, priority, span))
                return Said(warnings=answer.warnings, is_valid=True, replay=run)
            case "test":
                return Said(warnings=answer.warnings, is_valid=True, tests=await _tested(api, draft))
            case _:
                return Said(warnings=answer.warnings, is_valid=True)
    except HeadgateError as error:
        return said_of(error)


async def tried_at_once(api: Api, draft: Draft) -> Said:
    """What a draft about a recorded call does, before somebody asks: its cases, and the effect on recorded calls in
    the background. A part that fails is left out, and its button says why."""
    tests, run = None, None
    with suppress(HeadgateError):
        tests = await _tested(api, draft)
    with suppress(HeadgateError):
        body = replay_body(api, None, draft.rego_policy, whole_number(draft.priority, "priority"), "calls")
        run = await started(api, body, wait_seconds=0)
    return Said(tests=tests, replay=run)


def said_of(error: HeadgateError) -> Said:
    details = error.details or {}
    line = details.get("line")
    return Said(
        message=error.message,
        line=line if isinstance(line, int) else None,
        cases_fail="failing" in details,
        status=error.http_status,
    )


async def _tested(api: Api, draft: Draft) -> TestReportAnswer:
    """Raises ValidationError."""
    cases = await asyncio.to_thread(cases_of, draft.cases)
    policy = {"name": draft.name or "policy", "rego_policy": draft.rego_policy, "cases": cases}
    body = checked(PoliciesToTest, {"policies": [policy]})
    return await api.call(test, body, api.principal, api.dependencies)
