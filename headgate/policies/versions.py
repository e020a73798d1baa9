"""A policy's history: every change is an immutable version."""

from difflib import unified_diff
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.audit.model import Actor
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import ConflictError, PreconditionFailedError
from headgate.policies.model import RulePolicy

_COMPARED: Final = ("name", "description", "enabled", "priority", "mode", "rego_policy", "rules", "cases")
_CONTEXT_LINES: Final = 3


class VersionChange(StrEnum):
    """The kind of change that made a version."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    RESTORED = "restored"


class PolicyVersion(Struct, frozen=True):
    """The policy at this version; its ``updated_at`` is the version's creation time.

    ``actor`` None: the version is older than stored actors (the audit log has them).
    """

    policy: RulePolicy
    change: VersionChange
    note: str | None
    actor: Actor | None
    restored_from: int | None

    @property
    def version(self) -> int:
        return self.policy.version


class ExpectedVersion(Struct, frozen=True):
    """The version that the caller expects to be current (optimistic locking). ``by_header``: from If-Match."""

    version: int
    by_header: bool = False

    def require(self, current: int) -> None:
        """Raises ConflictError, or PreconditionFailedError for If-Match."""
        if self.version == current:
            return
        message = f"version {self.version} is not the newest: version {current} is. Read it and repeat your change."
        details = {"field": "version", "reason": "not the newest", "expected": self.version, "version": current}
        raise (
            PreconditionFailedError(message, details=details)
            if self.by_header
            else ConflictError(message, details=details)
        )


def changed_fields(before: RulePolicy, after: RulePolicy) -> tuple[str, ...]:
    """The names of changed fields, among those that people can change."""
    return tuple(name for name in _COMPARED if getattr(before, name) != getattr(after, name))


class VersionDiff(Struct, frozen=True):
    """``text``: a unified diff of the Rego, empty if equal. ``changes``: the other fields, by name."""

    text: str
    changes: JsonObject


def compare_versions(before: RulePolicy, after: RulePolicy) -> VersionDiff:
    lines = unified_diff(
        before.rego_policy.splitlines(keepends=True),
        after.rego_policy.splitlines(keepends=True),
        f"policy.rego (version {before.version})",
        f"policy.rego (version {after.version})",
        n=_CONTEXT_LINES,
    )
    # difflib omits the newline after a last line without one; a separate line marks this, as diff does.
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    changes: JsonObject = {
        name: {"from": _shown(before, name), "to": _shown(after, name)}
        for name in changed_fields(before, after)
        if name not in {"rego_policy", "rules"}
    }
    return VersionDiff(text, changes)


def _shown(policy: RulePolicy, name: str) -> JsonValue:
    value: JsonValue = getattr(policy, name)
    return parse_strict(value.encode()) if name == "cases" and isinstance(value, str) else value
