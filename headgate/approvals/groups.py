"""Approver groups: an organization defines them once, so that policies need not name people."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.organizations.mail_addresses import lower_ascii
from headgate.policies.terms import ASSIGNEE_MAX_CHARACTERS, GROUP_NAME, GROUP_PREFIX

MEMBERS_MAX: Final = 500
GROUPS_MAX: Final = 500
DESCRIPTION_MAX_CHARACTERS: Final = 1000


class ApproverGroup(Struct, frozen=True):
    """``members``: user ids and e-mail addresses, ASCII letters in lower case, sorted. A group does not hold groups."""

    name: str
    description: str | None
    members: tuple[str, ...]
    version: int
    created_at: datetime
    updated_at: datetime


def parse_group_name(text: str) -> str:
    """Raises ValidationError."""
    if not GROUP_NAME.fullmatch(text):
        raise ValidationError(
            "a group name has at most 64 lowercase letters, digits, - and _, and begins with a letter",
            details={"field": "name", "reason": "not a group's name"},
        )
    return text


def parse_members(members: Sequence[str]) -> tuple[str, ...]:
    """Raises ValidationError, which names the entry."""
    if len(members) > MEMBERS_MAX:
        raise ValidationError(
            f"at most {MEMBERS_MAX} members", details={"field": "members", "reason": "too many", "max": MEMBERS_MAX}
        )
    for number, member in enumerate(members):
        reason = None
        if not member.strip() or "\0" in member or len(member) > ASSIGNEE_MAX_CHARACTERS:
            reason = "must be a user's id or an e-mail address"
        elif member.startswith(GROUP_PREFIX):
            reason = "a group contains people, not groups"
        elif "@" not in member and not member.startswith("usr_"):
            reason = "must be a user's id (usr_…) or an e-mail address"
        if reason is not None:
            raise ValidationError(
                f"members[{number}]: {reason}", details={"field": f"members[{number}]", "reason": reason}
            )
    return tuple(sorted({lower_ascii(member.strip()) for member in members}))
