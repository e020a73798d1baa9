"""The rules of policies that decided something, for people who ask why."""

from collections.abc import Collection

from msgspec import Struct

from admin_api.policies.version_schemas import DecidingRuleAnswer
from headgate.db.database import Database
from headgate.kernel.errors import ValidationError
from headgate.policies.compile import compile_policy
from headgate.policies.deciding_rule import deciding_rule
from headgate.policies.model import RulePolicy, Verdict
from headgate.policies.surroundings import Surroundings, load_surroundings
from headgate.policies.version_store import find_versions


class AskedRule(Struct, frozen=True):
    """``reason``: what the policy said of the call."""

    policy_id: str
    version: int
    decision: Verdict
    reason: str | None


async def find_deciding_rules(
    database: Database, org_id: str, asked: Collection[AskedRule]
) -> dict[AskedRule, DecidingRuleAnswer]:
    """Without those whose version there is not."""
    async with database.transaction(org_id) as connection:
        versions = await find_versions(connection, org_id, [(one.policy_id, one.version) for one in asked])
        around = await load_surroundings(connection, org_id)
    return {
        one: _answer(found.policy, around, one)
        for one in asked
        if (found := versions.get((one.policy_id, one.version))) is not None
    }


def _answer(policy: RulePolicy, around: Surroundings, asked: AskedRule) -> DecidingRuleAnswer:
    try:
        engine = compile_policy(policy.rego_policy, around.data, around.libraries).engine
    except ValidationError:  # a module that this version imports is not there any more
        found = None
    else:
        found = deciding_rule(engine.ast(), policy.rego_policy, asked.decision.value, asked.reason)
    if found is None:
        return DecidingRuleAnswer(policy_name=policy.name, line=None, last_line=None, source=None)
    return DecidingRuleAnswer(policy_name=policy.name, line=found.line, last_line=found.last_line, source=found.text)
