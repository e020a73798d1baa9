"""The columns that a policy and its versions share: ``policies`` and ``policy_versions`` are written and read by this
list."""

from datetime import datetime
from typing import Final

from psycopg.rows import DictRow

from headgate.policies.model import PolicyMode, RulePolicy

CONTENT: Final = (
    "org_id", "policy_id", "version", "name", "description", "rego_policy", "enabled", "priority", "mode", "rules",
    "cases",
)  # fmt: skip


def content_of(org_id: str, policy: RulePolicy) -> dict[str, object]:
    """By column."""
    return {column: getattr(policy, column) for column in CONTENT} | {"org_id": org_id, "mode": policy.mode.value}


def policy_of(row: DictRow, *, quarantine: str | None, updated_at: datetime) -> RulePolicy:
    """``row`` contains the content and the policy's ``created_at``."""
    content = {column: row[column] for column in CONTENT} | {"mode": PolicyMode(row["mode"])}
    return RulePolicy(**content, quarantine=quarantine, created_at=row["created_at"], updated_at=updated_at)
