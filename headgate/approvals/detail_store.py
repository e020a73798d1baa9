"""Reads one approval with its votes, its steps and the people that its names stand for."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from headgate.approvals.history import EarlyEnd, Step
from headgate.approvals.model import Approval, Vote
from headgate.approvals.step_store import early_end_of, steps_of
from headgate.approvals.store import HeldAction, get_approval
from headgate.approvals.vote_store import votes_of
from headgate.db.database import Connection
from headgate.organizations.model import User
from headgate.organizations.store import find_users
from headgate.policies.terms import GROUP_PREFIX


class People(Struct, frozen=True):
    """The people that the names of approvals stand for: ``users`` by id, the members of ``groups`` by group name."""

    users: Mapping[str, User]
    groups: Mapping[str, tuple[str, ...]]

    def asked(self, approval: Approval) -> list[str]:
        """The assignees, by id or e-mail address, including members of groups and roles, without duplicates."""
        roles = [GROUP_PREFIX + slot.group for one in approval.requirements for slot in one.roles]
        names: dict[str, None] = {}
        for name in (*approval.assignees, *roles):
            if name.startswith(GROUP_PREFIX):
                names.update(dict.fromkeys(self.groups.get(name.removeprefix(GROUP_PREFIX), ())))
            else:
                names[name] = None
        return list(names)


class ApprovalDetail(Struct, frozen=True):
    approval: Approval
    about: HeldAction
    votes: Sequence[Vote]
    steps: Sequence[Step]
    early_end: EarlyEnd | None
    people: People


async def get_detail(connection: Connection, org_id: str, approval_id: str) -> ApprovalDetail:
    """Raises NotFoundError."""
    approval, about = await get_approval(connection, org_id, approval_id)
    return ApprovalDetail(
        approval,
        about,
        await votes_of(connection, org_id, approval_id),
        await steps_of(connection, org_id, approval_id),
        await early_end_of(connection, approval),
        await people_of(connection, org_id, [approval]),
    )


async def people_of(connection: Connection, org_id: str, approvals: Sequence[Approval]) -> People:
    """Reads the people that the names of these approvals stand for."""
    names = {name for one in approvals for name in one.assignees}
    groups = {name.removeprefix(GROUP_PREFIX) for name in names if name.startswith(GROUP_PREFIX)}
    groups |= {slot.group for one in approvals for requirement in one.requirements for slot in requirement.roles}
    cursor = await connection.execute(
        "SELECT name, members FROM approver_groups WHERE org_id = %s AND name = ANY (%s)", [org_id, sorted(groups)]
    )
    members = {row["name"]: tuple(row["members"]) for row in await cursor.fetchall()}
    wanted = names | {member for group in members.values() for member in group}
    return People(await find_users(connection, org_id, wanted), members)
