"""Four example calls that anyone may have decided, by the live engine on bundled policies.

Nothing is executed or recorded, and no organization is involved.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.actions.rego_input import rego_input
from headgate.actions.request import draft_of, parse_submission
from headgate.configuration.resources import resource_path
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.policies.defaults import default_policies
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import Decision, RulePolicy
from headgate.tools.match import CatalogueIndex

_AGENT: Final = ("agt_00000000-0000-7000-8000-000000000000", "demo agent")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Scenario(StrEnum):
    """The specification's four."""

    DELETE_PROD_DATABASE = "delete_prod_database"
    READ_CUSTOMER_PII = "read_customer_pii"
    SAFE_READ_ONLY_QUERY = "safe_read_only_query"
    SEND_CHAT_MESSAGE = "send_chat_message"


def _query(sql: str) -> JsonObject:
    return {
        "tool": "database",
        "operation": "execute",
        "params": {"sql": sql},
        "context": {"environment": "production"},
    }


_CALLS: Final[Mapping[Scenario, JsonObject]] = MappingProxyType(
    {
        Scenario.DELETE_PROD_DATABASE: _query("DROP DATABASE customers"),
        Scenario.READ_CUSTOMER_PII: _query("SELECT name, email, ssn FROM customers LIMIT 1000"),
        Scenario.SAFE_READ_ONLY_QUERY: _query(
            "SELECT count(*) FROM orders WHERE created_at > now() - interval '1 day'"
        ),
        Scenario.SEND_CHAT_MESSAGE: {
            "tool": "slack",
            "operation": "post_message",
            "params": {"channel": "#general", "text": "The deployment is finished."},
        },
    }
)


_NO_CATALOGUE: Final = CatalogueIndex(())
"""The scenarios use no catalogue: nothing is executed."""


class Demonstration(Struct, frozen=True):
    """One scenario's call and decision; ``policy_name`` is of the deciding policy."""

    tool: str
    operation: str
    decision: Decision
    policy_name: str
    warnings: tuple[str, ...]


def demonstrate(scenario: Scenario) -> Demonstration:
    """Decide it now."""
    draft = draft_of(parse_submission(canonical_bytes(_CALLS[scenario])), _NO_CATALOGUE, [])
    agent_id, agent_name = _AGENT
    decision = _policies().decide(
        rego_input(draft, agent_id=agent_id, agent_name=agent_name),
        tool=draft.tool,
        operation=draft.operation,
        host=None,
        method=None,
    )
    names = {policy.policy_id: policy.name for policy in _bundled()}
    policy_name = names.get(decision.policy_id or "", "no policy decides it, so it is denied")
    return Demonstration(draft.tool, draft.operation, decision, policy_name, _warnings(decision, names))


def _warnings(decision: Decision, names: Mapping[str, str]) -> tuple[str, ...]:
    others = tuple(
        f'the policy "{names.get(one.policy_id, one.policy_id)}" says {one.verdict}'
        for one in decision.spoken
        if one.verdict is not None and one.policy_id != decision.policy_id
    )
    return ("a demonstration: nothing was executed or recorded", *others)


@cache
def _policies() -> PolicySet:
    return PolicySet(_bundled(), b"{}")


@cache
def _bundled() -> tuple[RulePolicy, ...]:
    folder = resource_path("policies")
    return (
        _policy("customer_data", "Customer data needs approval", (folder / "demo/customer_data.rego").read_text(), 50),
        _policy("databases", "Database statements", (folder / "examples/databases.rego").read_text(), 50),
        *(_policy(one.key, one.name, one.rego_policy, one.priority) for one in default_policies()),
    )


def _policy(key: str, name: str, rego: str, priority: int) -> RulePolicy:
    return RulePolicy(
        policy_id=f"demo_{key}",
        version=1,
        name=name,
        description=None,
        rego_policy=rego,
        enabled=True,
        priority=priority,
        quarantine=None,
        created_at=_EPOCH,
        updated_at=_EPOCH,
    )
