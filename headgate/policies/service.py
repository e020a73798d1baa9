"""Changes an organization's rule policies: each change makes a version, an event, and a new generation."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange
from headgate.policies.defaults import default_policies
from headgate.policies.draft import CheckedPolicy, PolicyDraft, check_note
from headgate.policies.hiding import warnings_beside
from headgate.policies.model import NO_CASES, POLICIES_MAX, RulePolicy
from headgate.policies.store import (
    count_policies,
    insert_policy,
    load_enabled,
    lock_policy,
    save_version,
)
from headgate.policies.versions import ExpectedVersion, PolicyVersion, VersionChange, changed_fields


class SavedPolicy(Struct, frozen=True):
    """``warnings``: sentences for the person who saved it. ``changed``: false if nothing differed."""

    policy: RulePolicy
    warnings: tuple[str, ...]
    changed: bool = True


async def create_policy(change: OrganizationChange, checked: CheckedPolicy, note: str | None = None) -> SavedPolicy:
    """Stores the policy, makes decisions in flight stale, and records the actor. Raises ConflictError at the limit."""
    check_note(note)
    await change.raise_generation()  # locks: creations of one organization are ordered
    await _require_room(change)
    policy = _new_policy(change.org_id, checked.draft, change.at)
    warnings = checked.warnings + await _hidden(change.connection, policy, checked)
    await _insert(change, policy, note)
    return SavedPolicy(policy, warnings)


async def foresee_warnings(
    connection: Connection, org_id: str, checked: CheckedPolicy, policy_id: str | None, *, clock: Clock
) -> tuple[str, ...]:
    """The warnings for this draft as ``policy_id``'s next version or as a new policy. Stores nothing."""
    policy = _new_policy(org_id, checked.draft, clock())
    if policy_id is not None:
        policy = replace(policy, policy_id=policy_id)
    return checked.warnings + await _hidden(connection, policy, checked)


async def update_policy(
    change: OrganizationChange,
    policy_id: str,
    edit: Callable[[RulePolicy], RulePolicy],
    checked: CheckedPolicy,
    note: str | None,
    *,
    expected: ExpectedVersion | None,
) -> SavedPolicy:
    """Stores the next version: ``edit`` applied to the current policy. Without a difference there is no version.

    ``checked`` is the draft that was tried. If a concurrent change would lead to another text, nothing is stored.
    Raises NotFoundError, ConflictError, PreconditionFailedError.
    """
    check_note(note)
    before, _ = await lock_policy(change.connection, change.org_id, policy_id)
    if expected is not None:
        expected.require(before.version)
    after = edit(before)
    if after.rego_policy != checked.draft.rego_policy:
        raise ConflictError(
            f"policy {policy_id} was changed by another request at the same time. Read it and repeat your change.",
            details={"field": "version", "reason": "changed meanwhile", "version": before.version},
        )
    if not changed_fields(before, after) and before.quarantine == after.quarantine:
        return SavedPolicy(before, checked.warnings, changed=False)
    await change.raise_generation()
    if after.rego_policy != before.rego_policy:
        after = replace(after, quarantine=None)  # Another text, which has passed its own trial.
    after = replace(after, version=before.version + 1, updated_at=change.at)
    version = PolicyVersion(after, VersionChange.UPDATED, note, change.actor, None)
    await _save(change, version, before)
    return SavedPolicy(after, checked.warnings + await _hidden(change.connection, after, checked))


async def restore_policy(
    change: OrganizationChange,
    wanted: PolicyVersion,
    checked: CheckedPolicy,
    note: str | None,
    *,
    expected: ExpectedVersion | None,
) -> SavedPolicy:
    """Restores an old version as the next version; this also restores a deleted policy.

    Raises NotFoundError, ConflictError (also at the limit of policies), PreconditionFailedError.
    """
    check_note(note)
    before, was_deleted = await lock_policy(change.connection, change.org_id, wanted.policy.policy_id, deleted_too=True)
    if expected is not None:
        expected.require(before.version)
    await change.raise_generation()
    if was_deleted:
        await _require_room(change)
    after = replace(
        wanted.policy, version=before.version + 1, created_at=before.created_at, updated_at=change.at, quarantine=None
    )
    if after.rego_policy == before.rego_policy:
        after = replace(after, quarantine=before.quarantine)
    version = PolicyVersion(after, VersionChange.RESTORED, note, change.actor, wanted.version)
    await _save(change, version, before)
    return SavedPolicy(after, checked.warnings + await _hidden(change.connection, after, checked))


async def delete_policy(
    change: OrganizationChange, policy_id: str, note: str | None = None, *, expected: ExpectedVersion | None = None
) -> RulePolicy:
    """Deletes the policy. Its versions stay, for the decisions that they made; the deletion is the last version.

    Raises NotFoundError, ConflictError, PreconditionFailedError.
    """
    check_note(note)
    before, _ = await lock_policy(change.connection, change.org_id, policy_id)
    if expected is not None:
        expected.require(before.version)
    await change.raise_generation()
    after = replace(before, version=before.version + 1, updated_at=change.at)
    version = PolicyVersion(after, VersionChange.DELETED, note, change.actor, None)
    await _save(change, version, before)
    return after


async def seed_default_policies(change: OrganizationChange) -> list[RulePolicy]:
    """Seeds the default policies of a new organization; none if it has ever had any policy."""
    await change.raise_generation()
    if await count_policies(change.connection, change.org_id, deleted_too=True):
        return []
    seeded: list[RulePolicy] = []
    for default in default_policies():
        draft = PolicyDraft(default.name, default.rego_policy, default.description, priority=default.priority)
        policy = _new_policy(change.org_id, draft, change.at)
        await _insert(change, policy, None)
        seeded.append(policy)
    return seeded


async def _insert(change: OrganizationChange, policy: RulePolicy, note: str | None) -> None:
    version = PolicyVersion(policy, VersionChange.CREATED, note, change.actor, None)
    await insert_policy(change.connection, change.org_id, policy, change.user_id, version)
    await _record(change, version, None)


async def _save(change: OrganizationChange, version: PolicyVersion, before: RulePolicy) -> None:
    await save_version(change.connection, change.org_id, version, change.user_id)
    await _record(change, version, before)


async def _require_room(change: OrganizationChange) -> None:
    if await count_policies(change.connection, change.org_id) >= POLICIES_MAX:
        raise ConflictError(
            f"an organization has at most {POLICIES_MAX} rule policies. Delete one first",
            details={"limit": POLICIES_MAX},
        )


async def _hidden(connection: Connection, policy: RulePolicy, checked: CheckedPolicy) -> tuple[str, ...]:
    enabled = await load_enabled(connection, policy.org_id)
    # In a thread: compiling on the event loop would block it for a millisecond per policy.
    return await asyncio.to_thread(warnings_beside, policy, enabled, checked.data, checked.libraries)


def _new_policy(org_id: str, draft: PolicyDraft, now: datetime) -> RulePolicy:
    return RulePolicy(
        policy_id=new_id(IdPrefix.POLICY),
        version=1,
        name=draft.name,
        description=draft.description,
        rego_policy=draft.rego_policy,
        enabled=draft.enabled,
        priority=draft.priority,
        quarantine=None,
        created_at=now,
        updated_at=now,
        org_id=org_id,
        mode=draft.mode,
        rules=draft.rules,
        cases=NO_CASES if draft.cases is None else draft.cases,
    )


_EVENT_TYPES = {
    VersionChange.CREATED: EventType.POLICY_CREATED,
    VersionChange.UPDATED: EventType.POLICY_UPDATED,
    VersionChange.DELETED: EventType.POLICY_DELETED,
    VersionChange.RESTORED: EventType.POLICY_RESTORED,
}


async def _record(change: OrganizationChange, version: PolicyVersion, before: RulePolicy | None) -> None:
    policy = version.policy
    data: JsonObject = {
        "policy_id": policy.policy_id,
        "version": policy.version,
        "name": policy.name,
        "enabled": policy.enabled,
        "priority": policy.priority,
        "mode": policy.mode.value,
        "rego_sha256": sha256_hex(policy.rego_policy.encode()),
        "generation": await change.raise_generation(),
    }
    if before is not None:
        data["previous_version"] = before.version
        data["changed"] = [*changed_fields(before, policy)]
    if version.restored_from is not None:
        data["restored_from"] = version.restored_from
    if version.note is not None:
        data["note"] = version.note
    await change.record(_EVENT_TYPES[version.change], data)
