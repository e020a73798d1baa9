"""/admin/policies/replay: what a changed policy would have decided of recorded actions, streamed as it is found out.

The answer is NDJSON: lines ``{"type": "progress", "done", "total"}``, and at last one ``{"type": "report", …}``, or
``{"type": "error", …}`` where it could not be finished. Whoever closes the connection cancels it.
"""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from fastapi import APIRouter
from msgspec.structs import replace
from starlette.responses import StreamingResponse

from admin_api.change import administer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal, Dependencies
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import ReplayId
from admin_api.instants import range_of_time
from admin_api.pagination import CountedPage, CurrentPage, counted_page
from admin_api.policies.replay_schemas import KeptReplayAnswer, ReplayBody, kept_replay_answer
from admin_api.policies.saving import checked_draft
from admin_api.principal import Principal
from headgate.actions.replay_store import ReplayRange, start_of_newest
from headgate.agents.scopes import Scope, require_scope
from headgate.audit.model import EventType
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import HeadgateError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.nlp_policies.store import load_enabled_nlp
from headgate.policies.draft import PolicyDraft, draft_of
from headgate.policies.model import RulePolicy
from headgate.policies.replay_report_store import KeptReport, get_report, keep_report, list_reports
from headgate.policies.store import get_policy, load_enabled
from headgate.policies.surroundings import load_surroundings
from headgate.workflows.replay_policy import Progress, Replay

router = APIRouter(route_class=GuardedRoute, tags=["policies"])

_NDJSON: Final = "application/x-ndjson"
_DRAFT: Final = "pol_draft"
_DEFAULT_RANGE: Final = timedelta(days=1)


@router.post("/admin/policies/replay", response_class=StreamingResponse)
async def replay(body: ReplayBody, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> StreamingResponse:
    """Evaluates recorded actions again with a changed policy. Reports the changes by agent, tool and operation, with
    examples, and compares them with the reviewers' decisions. Invalid Rego: 400, before anything is streamed."""
    require_scope(principal.scopes, Scope.ACTIONS_READ)
    prepared = await _prepared(body, principal, dependencies)
    lines = _lines(prepared, body, principal, dependencies)
    return StreamingResponse(lines, media_type=_NDJSON, headers={"Cache-Control": "no-store"})


async def _prepared(body: ReplayBody, principal: Principal, dependencies: Dependencies) -> Replay:
    org_id = principal.org_id
    start, end = range_of_time(body.start_date, body.end_date)
    end = end or dependencies.clock()
    if body.newest is not None:
        await apply_before_reading(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        around = await load_surroundings(connection, org_id)
        policies = await load_enabled(connection, org_id)
        nlp_policies = await load_enabled_nlp(connection, org_id)
        wanted = ReplayRange(start or end - _DEFAULT_RANGE, end, body.agent_id)
        if body.newest is not None:
            wanted = replace(wanted, start=await start_of_newest(connection, org_id, wanted, body.newest))
        saved = None
        if body.policy_id is not None:
            saved = await get_policy(connection, org_id, body.policy_id)
    change = _change(body, saved, org_id, dependencies)
    await checked_draft(dependencies, org_id, draft_of(change))
    return Replay(
        org_id, change, policies, around, wanted, body.limit, body.examples, nlp_policies, detectors=body.detectors
    )


def _change(body: ReplayBody, saved: RulePolicy | None, org_id: str, dependencies: Dependencies) -> RulePolicy:
    if saved is None:
        draft, now = PolicyDraft("draft", body.rego_policy or ""), dependencies.clock()
        saved = RulePolicy(
            policy_id=_DRAFT,
            version=1,
            name=draft.name,
            description=None,
            rego_policy=draft.rego_policy,
            enabled=True,
            priority=body.draft_priority,
            quarantine=None,
            created_at=now,
            updated_at=now,
            org_id=org_id,
        )
    return replace(
        saved,
        rego_policy=body.rego_policy or saved.rego_policy,
        priority=saved.priority if body.priority is None else body.priority,
        enabled=body.enabled,
        mode=body.mode,
        quarantine=None,
    )


async def _lines(
    prepared: Replay, body: ReplayBody, principal: Principal, dependencies: Dependencies
) -> AsyncIterator[bytes]:
    try:
        async for found in dependencies.replay_policy.run(prepared):
            if isinstance(found, Progress):
                yield _line({"type": "progress", "done": found.done, "total": found.total})
                continue
            report = _described(found, prepared, body)
            if body.keep:
                report["id"] = await _keep(report, principal, dependencies)
            yield _line({"type": "report", **report})
    except HeadgateError as error:
        # The answer has begun with 200: the last line says how it ended instead.
        yield _line({"type": "error", "code": error.code.value, "message": error.message})


def _described(report: JsonObject, prepared: Replay, body: ReplayBody) -> JsonObject:
    return {
        "policy_id": body.policy_id,
        "draft": body.rego_policy is not None,
        "start_date": rfc3339(prepared.wanted.start),
        "end_date": rfc3339(prepared.wanted.end),
        **report,
    }


async def _keep(report: JsonObject, principal: Principal, dependencies: Dependencies) -> str:
    async with administer(principal, dependencies) as change:
        kept = KeptReport(new_id(IdPrefix.REPLAY), change.at, change.actor, report)
        await keep_report(change.connection, change.org_id, kept, change.actor)
        data: JsonObject = {
            "replay_id": kept.replay_id,
            "policy_id": report["policy_id"],
            "replayed": report["replayed"],
            "changed": report["changed"],
        }
        await change.record(EventType.POLICY_REPLAYED, data)
    return kept.replay_id


def _line(document: JsonObject) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


@router.get("/admin/policies/replays", response_model_exclude_unset=True)
async def list_all(
    page: CurrentPage, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> CountedPage[KeptReplayAnswer]:
    """Lists stored replay reports, newest first."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        kept, total = await list_reports(
            connection, principal.org_id, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
    return counted_page(page, [kept_replay_answer(one) for one in kept], total.total, is_minimum=total.is_minimum)


@router.get("/admin/policies/replays/{id}")
async def get(id: ReplayId, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> KeptReplayAnswer:  # noqa: A002 - as elsewhere
    """Gets one replay with its request and its result."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return kept_replay_answer(await get_report(connection, principal.org_id, id))
