"""Policies for tests."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from headgate.policies.model import RulePolicy

INSTANT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def _rule_policy(
    text: str = "package t\nimport rego.v1\nallow := true",
    *,
    policy_id: str = "pol_a",
    priority: int = 100,
    enabled: bool = True,
    quarantine: str | None = None,
    name: str | None = None,
) -> RulePolicy:
    return RulePolicy(
        policy_id=policy_id,
        version=1,
        name=name or policy_id,
        description=None,
        rego_policy=text,
        enabled=enabled,
        priority=priority,
        quarantine=quarantine,
        created_at=INSTANT,
        updated_at=INSTANT,
        org_id="org_a",
    )


@pytest.fixture(scope="session")
def rule_policy() -> Callable[..., RulePolicy]:
    """Makes a policy; every member has a default."""
    return _rule_policy
