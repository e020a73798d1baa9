"""/v1/dry-run and /admin/policies/{id}/simulate: what would be decided, with nothing stored."""

import asyncio
import json
from typing import Any

from fastapi import APIRouter
from msgspec.structs import replace

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.identifiers import PolicyId
from admin_api.policies.dry_run_body import DryRunBody, SimulationBody
from admin_api.policies.dry_run_schemas import (
    DryRunAnswer,
    SimulationAnswer,
    WouldDecideAnswer,
    action_seen,
    decision_members,
    nlp_word,
    policy_word,
    spoke,
)
from headgate.gate.dry_run import GivenRules
from headgate.policies.combine import combine, decide_priority
from headgate.policies.explain import interpret_answer
from headgate.policies.hiding import warnings_beside
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.simulate import simulate as simulate_policy
from headgate.policies.store import get_policy, load_enabled
from headgate.policies.surroundings import load_surroundings
from headgate.policies.version_store import get_version
from headgate.protocols.draft import ActionDraft

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.post("/v1/dry-run")
async def dry_run(body: DryRunBody, principal: CurrentPrincipal, dependencies: CurrentDependencies) -> DryRunAnswer:
    """Evaluates a call with all current policies. Returns the decision and the result of each policy. Nothing is stored
    or counted."""
    result = await dependencies.dry_run.run(principal.org_id, body.call(), trace=body.trace, ask_judges=body.judges)
    decision = result.content.decision
    names = {one.policy.policy_id: one.policy.name for one in result.rules.explanations} | result.content.names
    words = [
        policy_word(
            one,
            asked=one.policy.policy_id in result.rules.asked,
            decides=spoke(decision, one.verdict),
            trace=body.trace,
        )
        for one in result.rules.explanations
    ]
    return DryRunAnswer(
        **decision_members(decision, names),
        rules=[f"{word.name}: {rule}" for word in words if word.decides for rule in word.rules],
        policies=words,
        nlp=[nlp_word(one) for one in result.content.policies],
        action=action_seen(result.hypothesis.candidate.draft, _shown(result.hypothesis.candidate.draft)),
        generation=result.hypothesis.state.generation,
    )


@router.post("/admin/policies/{id}/simulate")
async def simulate(
    id: PolicyId,  # noqa: A002 - the specification's name of the parameter
    body: SimulationBody,
    principal: CurrentPrincipal,
    dependencies: CurrentDependencies,
) -> SimulationAnswer:
    """Evaluates a call with one policy: the saved policy, one of its versions, or the draft in the body."""
    org_id = principal.org_id
    async with dependencies.database.transaction(org_id) as connection:
        policy = await get_policy(connection, org_id, id)
        if body.version is not None:
            policy = (await get_version(connection, org_id, id, body.version)).policy
        around = await load_surroundings(connection, org_id)
        enabled = await load_enabled(connection, org_id)
    if body.rego_policy is not None:
        policy = replace(policy, rego_policy=body.rego_policy)
    hypothesis = await dependencies.dry_run.suppose(org_id, body.call())
    simulation = await simulate_policy(
        policy.rego_policy, around.data, around.libraries, hypothesis.candidate.rego_input, trace=body.trace
    )
    beside = await asyncio.to_thread(warnings_beside, policy, enabled, around.data, around.libraries)
    verdict, rules = interpret_answer(policy, simulation.raw)
    alone = decide_priority(() if verdict.verdict is None else (verdict,), simulation.time_ms)
    everybody = await dependencies.dry_run.explain_rules(hypothesis)
    others = [one.verdict for one in everybody.explanations if one.policy.policy_id != id and _decides(one.policy)]
    rules_overall = combine([*others, verdict], everybody.decision.evaluation_time_ms)
    content = await dependencies.dry_run.decide(hypothesis, GivenRules(rules_overall), ask_judges=body.judges)
    names = {one.policy.policy_id: one.policy.name for one in everybody.explanations} | {id: policy.name}
    return SimulationAnswer(
        **decision_members(alone, names),
        said=verdict.verdict,
        version=None if body.rego_policy is not None else policy.version,
        rules=list(rules),
        messages=list(verdict.messages),
        error=verdict.error is not None,
        trace=[one.record() for one in simulation.trace] if body.trace else None,
        warnings=[*simulation.warnings, *beside],
        overall=WouldDecideAnswer(**decision_members(content.decision, names | content.names)),
        nlp=[nlp_word(one) for one in content.policies],
        action=action_seen(hypothesis.candidate.draft, _shown(hypothesis.candidate.draft)),
    )


def _decides(policy: RulePolicy) -> bool:
    return policy.mode is PolicyMode.ENFORCE


def _shown(draft: ActionDraft) -> dict[str, Any] | None:
    return None if draft.read_call is None else json.loads(draft.read_call.shown)
