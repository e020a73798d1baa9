"""How many calls each policy decided in seven days, for the lists of policies."""

from collections.abc import Mapping

from admin_api.policies.effect_routes import PolicyEffectAnswer, effect
from admin_api.web.api import Api
from headgate.agents.scopes import Scope


async def figures_context(api: Api) -> dict[str, object]:
    """``effect`` by policy; None where the person may not see calls. ``effect_is_minimum``: more were not counted."""
    if not api.may(Scope.ACTIONS_READ):
        return {"effect": None, "effect_is_minimum": False}
    found = await api.call(effect, api.principal, api.dependencies)
    by_policy: Mapping[str | None, PolicyEffectAnswer] = {one.policy_id: one for one in found.data}
    return {"effect": by_policy, "effect_is_minimum": found.is_minimum}
