"""/admin/policies/examples: ready-made policies to begin with."""

from fastapi import APIRouter
from pydantic import Field

from admin_api.guarded_route import GuardedRoute
from admin_api.schema import BaseModel
from headgate.policies.examples import examples

router = APIRouter(route_class=GuardedRoute, tags=["policies"])


class ExampleAnswer(BaseModel):
    """A policy to change and save."""

    id: str
    name: str
    summary: str
    rego_policy: str
    cases: str = Field(description="YAML, in the format of headgate policy test.")


class ExamplesAnswer(BaseModel):
    data: list[ExampleAnswer]


@router.get("/admin/policies/examples")
async def list_all() -> ExamplesAnswer:
    """Lists example policies, by name."""
    return ExamplesAnswer(
        data=[
            ExampleAnswer(
                id=one.example_id, name=one.name, summary=one.summary, rego_policy=one.rego_policy, cases=one.cases
            )
            for one in examples()
        ]
    )
