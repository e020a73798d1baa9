"""Shows the effect of a policy draft: checks it, runs its cases, and replays recorded calls. Drafts are not stored."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import yaml

from admin_api.policies.check_routes import check
from admin_api.policies.test_routes import test
from admin_api.policies.test_schemas import PoliciesToTest, TestReportAnswer
from admin_api.web.api import Api
from admin_api.web.form import Form, checked, whole_number
from admin_api.web.policy_draft import Draft, body_to_check
from admin_api.web.replay import RunShown, replay_body, started
from headgate.configuration.yaml_document import parse_value
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import HeadgateError, ValidationError

TRIES: Final = ("check", "test", "replay")
"""The buttons that store nothing."""
_CASES_MAX_CHARACTERS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Said:
    """About what was sent. ``line`` is of the source, from 1 on."""

    message: str | None = None
    line: int | None = None
    warnings: Sequence[str] = ()
    is_valid: bool = False
    replay: RunShown | None = None
    tests: TestReportAnswer | None = None
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
    line = (error.details or {}).get("line")
    return Said(message=error.message, line=line if isinstance(line, int) else None, status=error.http_status)


async def _tested(api: Api, draft: Draft) -> TestReportAnswer:
    """Raises ValidationError."""
    cases = await asyncio.to_thread(_cases_of, draft.cases)
    policy = {"name": draft.name or "policy", "rego_policy": draft.rego_policy, "cases": cases}
    body = checked(PoliciesToTest, {"policies": [policy]})
    return await api.call(test, body, api.principal, api.dependencies)


def _cases_of(text: str) -> JsonValue:
    """YAML without aliases, of which a few lines make gigabytes (CWE-776). Raises ValidationError."""
    if len(text) > _CASES_MAX_CHARACTERS:
        raise ValidationError(f"cases: at most {_CASES_MAX_CHARACTERS} characters", details={"field": "cases"})
    try:
        if any(isinstance(one, yaml.AliasToken) for one in yaml.scan(text)):
            raise ValidationError("cases: write YAML without aliases (*name).", details={"field": "cases"})
    except yaml.YAMLError as error:
        raise ValidationError(f"cases: not valid YAML: {error}", details={"field": "cases"}) from error
    return parse_value(text, where="cases") or []
