"""What each policy said about an action, by name, for the people who ask why it was decided so."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from admin_api.dependencies import Dependencies
from headgate.actions.model import RecordedDecision
from headgate.kernel.canonical_json import JsonValue
from headgate.policies.store import policy_names


class PolicySayAnswer(BaseModel):
    policy_id: str
    name: str | None
    version: int | None = Field(description="The version that was evaluated.")
    decision: str | None = Field(description="Null: the policy made no decision about this call.")
    reason: str | None


async def policy_says(dependencies: Dependencies, org_id: str, decision: RecordedDecision) -> list[PolicySayAnswer]:
    """In the recorded order: those that decided."""
    said = [one for one in decision.policies if isinstance(one, dict)]
    if not said:
        return []
    async with dependencies.database.transaction(org_id) as connection:
        names = await policy_names(connection, org_id, [str(one["id"]) for one in said])
    return _answers(said, names)


def _answers(said: Sequence[Mapping[str, JsonValue]], names: Mapping[str, str]) -> list[PolicySayAnswer]:
    return [
        PolicySayAnswer(
            policy_id=str(one["id"]),
            name=names.get(str(one["id"])),
            version=version if isinstance(version := one.get("version"), int) else None,
            decision=_text(one.get("decision")),
            reason=_text(one.get("reason")),
        )
        for one in said
    ]


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
