"""Administrators change approver groups. The caller's transaction writes the row and the event together.

Each vote looks up the current members. Processes know the people of grants with their groups, so a change makes
decisions stale.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from headgate.approvals.group_store import count_groups, delete_group, insert_group, lock_group, save_group
from headgate.approvals.groups import GROUPS_MAX, ApproverGroup, parse_group_name, parse_members
from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ConflictError, NotFoundError
from headgate.organizations.change import OrganizationChange
from headgate.policies.versions import ExpectedVersion


async def create_group(
    change: OrganizationChange, name: str, description: str | None, members: Sequence[str]
) -> ApproverGroup:
    """Raises ValidationError or ConflictError (the name is taken, or there are too many groups)."""
    group = ApproverGroup(parse_group_name(name), description, parse_members(members), 1, change.at, change.at)
    await change.raise_generation()
    if await count_groups(change.connection, change.org_id) >= GROUPS_MAX:
        raise ConflictError(f"the organization already has {GROUPS_MAX} groups, the maximum")
    if not await insert_group(change.connection, change.org_id, group):
        raise ConflictError(f"a group named {name} already exists", details={"field": "name", "reason": "taken"})
    await _record(change, EventType.APPROVER_GROUP_CREATED, _data(group))
    return group


async def replace_group(
    change: OrganizationChange,
    name: str,
    description: str | None,
    members: Sequence[str],
    expected: ExpectedVersion | None,
) -> ApproverGroup:
    """Raises NotFoundError, ValidationError, PreconditionFailedError or ConflictError (the version has changed)."""
    before = await _locked(change, name)
    if expected is not None:
        expected.require(before.version)
    group = replace(
        before,
        description=description,
        members=parse_members(members),
        version=before.version + 1,
        updated_at=change.at,
    )
    await save_group(change.connection, change.org_id, group)
    added: JsonObject = {
        "added": [*sorted(set(group.members) - set(before.members))],
        "removed": [*sorted(set(before.members) - set(group.members))],
    }
    await _record(change, EventType.APPROVER_GROUP_UPDATED, _data(group) | added)
    return group


async def remove_group(change: OrganizationChange, name: str) -> ApproverGroup:
    """Deletes the group. References that remain match no person. Raises NotFoundError."""
    group = await _locked(change, name)
    await delete_group(change.connection, change.org_id, name)
    await _record(change, EventType.APPROVER_GROUP_DELETED, _data(group))
    return group


async def _locked(change: OrganizationChange, name: str) -> ApproverGroup:
    name = parse_group_name(name)
    await change.raise_generation()
    group = await lock_group(change.connection, change.org_id, name)
    if group is None:
        raise NotFoundError(f"no group {name}")
    return group


async def _record(change: OrganizationChange, event_type: EventType, data: JsonObject) -> None:
    await change.record(event_type, data)


def _data(group: ApproverGroup) -> JsonObject:
    return {"name": group.name, "members": [*group.members], "version": group.version}
