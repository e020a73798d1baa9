"""/admin/policies/test: running the tests of policies, saved or not, in a process with little memory and time."""

import json

from fastapi import APIRouter

from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.policies.test_schemas import PoliciesToTest, TestReportAnswer
from headgate.kernel.errors import ValidationError
from headgate.policies.suites.child import run_sent_suite
from headgate.policies.surroundings import load_surroundings

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


@router.post("/admin/policies/test")
async def test(
    body: PoliciesToTest, principal: CurrentPrincipal, dependencies: CurrentDependencies
) -> TestReportAnswer:
    """Runs test cases and rules ``test_…``. The status is 200 whether they pass or fail. Nothing is stored."""
    names = [policy.name for policy in body.policies]
    if len(set(names)) < len(names):
        raise ValidationError("policies: two have the same name", details={"field": "policies", "reason": "names"})
    async with dependencies.database.transaction(principal.org_id) as connection:
        around = await load_surroundings(connection, principal.org_id)
    modules = list(around.libraries)
    if body.modules is not None:
        modules = [(f"lib/{path}.rego", text) for path, text in sorted(body.modules.items())]
    report = await run_sent_suite(
        {
            "policies": [policy.model_dump(mode="json") for policy in body.policies],
            "cases": body.cases,
            "data": json.loads(around.data) if body.data is None else body.data,
            "modules": modules,
        }
    )
    return TestReportAnswer.model_validate(report)
