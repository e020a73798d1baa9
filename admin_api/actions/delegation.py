"""Reading on whose behalf an action is asked for, and what was asked for on its behalf."""

from admin_api.actions.delegation_schemas import DelegationAnswer, delegation_answer
from admin_api.actions.found_canaries import found_canaries
from admin_api.actions.policy_say import policy_says
from admin_api.actions.schemas import ActionDetailAnswer, Expansion, action_detail_answer
from admin_api.actions.timeline import read_timeline
from admin_api.dependencies import Dependencies
from admin_api.principal import Principal
from headgate.actions.delegation import Chain, seen_by
from headgate.actions.delegation_store import chain_of, checked_chain, sub_actions_of
from headgate.actions.model import Action, ActionDetail
from headgate.actions.request import ActionSubmission
from headgate.agents.kill_switch import current_stops
from headgate.journal.apply import require_applied
from headgate.organizations.stops import refusal, stopping


async def chain_above(dependencies: Dependencies, org_id: str, submission: ActionSubmission) -> Chain:
    """The actions on whose behalf this one is asked for. Raises ValidationError."""
    if submission.parent_action_id is None:
        return []
    await require_applied(dependencies.database, org_id)
    async with dependencies.database.transaction(org_id) as connection:
        return await checked_chain(connection, org_id, submission.parent_action_id, most=dependencies.delegation_depth)


async def shown_action(
    dependencies: Dependencies, principal: Principal, detail: ActionDetail, expand: Expansion
) -> ActionDetailAnswer:
    """The tree around it is looked for where it is shown."""
    if expand != "all":
        return action_detail_answer(detail, expand, None)
    answer = action_detail_answer(detail, expand, await delegation_of(dependencies, principal, detail))
    if principal.agent_id is not None:
        # What every policy says tells an agent how to get around them; who decides, whom to persuade; a token's
        # name, where its traps are.
        stopped = await _stopped(dependencies, principal.org_id, detail.action)
        update: dict[str, object] = {"policies": None, "canaries": None, "timeline": None, "stopped": stopped}
        if answer.request.delegation is not None:
            # An agent may name any action as its parent.
            own = seen_by(principal.agent_id, answer.request.delegation)
            update["request"] = answer.request.model_copy(update={"delegation": own})
        return answer.model_copy(update=update)
    org_id, action = principal.org_id, detail.action
    says = await policy_says(dependencies, org_id, action.decision)
    timeline = await read_timeline(dependencies, org_id, action.action_id)
    found = found_canaries(action.decision)
    return answer.model_copy(update={"policies": says, "canaries": found, "timeline": timeline})


async def _stopped(dependencies: Dependencies, org_id: str, action: Action) -> str | None:
    """An agent that carries the action out itself asks for this before it does. Raises UnavailableError."""
    async with dependencies.database.transaction(org_id) as connection:
        stop = stopping(await current_stops(connection, org_id), agent_id=action.agent_id, tool=action.tool)
    return None if stop is None else refusal(stop)


async def delegation_of(
    dependencies: Dependencies, principal: Principal, detail: ActionDetail
) -> DelegationAnswer | None:
    """What stands above and below; an agent sees its own agent's actions of it."""
    action, most = detail.action, dependencies.delegation_depth
    if action.parent_action_id is None and not detail.delegation_count:
        return None
    org_id, agent_id = principal.org_id, principal.agent_id
    async with dependencies.database.transaction(org_id) as connection:
        chain = await chain_of(connection, org_id, action.parent_action_id, most=most, agent_id=agent_id)
        below = await sub_actions_of(connection, org_id, action.action_id, depth=most, agent_id=agent_id)
    return delegation_answer(chain, below)
