"""Runs the test cases that are saved with a policy, before they are saved (decision 0087)."""

import json

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.policies.draft import PolicyDraft
from headgate.policies.model import NO_CASES
from headgate.policies.suites.child import run_sent_suite
from headgate.policies.surroundings import Surroundings

_NAMED_MAX = 5
_ACCEPTED = frozenset({"passed", "skipped"})


async def require_passing(draft: PolicyDraft, around: Surroundings) -> None:
    """Raises ValidationError, which names the failing cases; PolicyRefusedError (time or memory exceeded)."""
    if draft.cases in (None, NO_CASES):
        return
    policy = {
        "name": draft.name,
        "rego_policy": draft.rego_policy,
        "priority": draft.priority,
        "mode": draft.mode.value,
        "cases": json.loads(str(draft.cases)),
    }
    report = await run_sent_suite(
        {"policies": [policy], "cases": [], "data": json.loads(around.data), "modules": list(around.libraries)}
    )
    results = report.get("results")
    failing = (
        [one for one in results if isinstance(one, dict) and one["outcome"] not in _ACCEPTED]
        if isinstance(results, list)
        else []
    )
    if failing:
        raise ValidationError(
            _sentence(failing), details={"field": "cases", "reason": "a test fails", "failing": failing}
        )


def _sentence(failing: list[JsonObject]) -> str:
    named = "; ".join(f"{one['name']}: {one['message'] or one['outcome']}" for one in failing[:_NAMED_MAX])
    more = f"; and {len(failing) - _NAMED_MAX} more" if len(failing) > _NAMED_MAX else ""
    count = "1 test fails" if len(failing) == 1 else f"{len(failing)} tests fail"
    return f"{count}: {named}{more}. Correct the policy or the cases, or save it with accept_failing_cases."
