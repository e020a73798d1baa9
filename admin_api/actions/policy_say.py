"""The recorded result of each policy about an action, by name, for the people who ask why it was decided so."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from admin_api.dependencies import Dependencies
from admin_api.policies.names import names_of_policies
from admin_api.schema import BaseModel
from headgate.actions.model import RecordedDecision
from headgate.kernel.canonical_json import JsonObject, JsonValue


class PolicySayAnswer(BaseModel):
    policy_id: str
    name: str | None
    version: int | None = Field(description="The version that was evaluated.")
    decision: str | None = Field(description="Null: the policy made no decision about this call.")
    reason: str | None
    risk_level: str | None = Field(description="The risk that a rule policy states. Null: it states none.")
    score: float | None = Field(description="Risk score of a content policy, from 0 to 1. Null: a rule policy.")


async def policy_says(dependencies: Dependencies, org_id: str, decision: RecordedDecision) -> list[PolicySayAnswer]:
    """In the recorded order: the rule policies that decided, then the content policies that ran."""
    rules = [one for one in decision.policies if isinstance(one, dict)]
    content = [one for one in decision.nlp if isinstance(one, dict)]
    if not rules and not content:
        return []
    ids = [str(one["id"]) for one in rules] + [str(one["policy_id"]) for one in content]
    async with dependencies.database.transaction(org_id) as connection:
        names = await names_of_policies(connection, org_id, ids)
    return _answers(rules, content, names)


def _answers(
    rules: Sequence[JsonObject], content: Sequence[JsonObject], names: Mapping[str, str]
) -> list[PolicySayAnswer]:
    return [_answer(one, "id", "reason", names) for one in rules] + [
        _answer(one, "policy_id", "reasoning", names) for one in content
    ]


def _answer(entry: JsonObject, id_member: str, reason_member: str, names: Mapping[str, str]) -> PolicySayAnswer:
    policy_id, version, score = str(entry[id_member]), entry.get("version"), entry.get("score")
    return PolicySayAnswer(
        policy_id=policy_id,
        name=names.get(policy_id),
        version=version if isinstance(version, int) else None,
        decision=_text(entry.get("decision")),
        reason=_text(entry.get(reason_member)),
        risk_level=_text(entry.get("risk_level")),
        score=score if isinstance(score, int | float) else None,
    )


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
