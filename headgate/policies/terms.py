"""Parses a policy's ``approval`` object (docs/guides/approvals.md has every member).

Frozen types and their parser, without I/O. An unknown member, a wrong type or unsatisfiable terms are an error of the
policy, and an error denies (``headgate.policies.answer``).
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonValue
from headgate.policies.answer_values import AnswerError, describe, whole_number
from headgate.policies.grant_terms import DEFAULT_GRANT_TERMS, GrantTerms, parse_grant_terms

APPROVALS_MAX: Final = 100
ASSIGNEES_MAX: Final = 100
ASSIGNEE_MAX_CHARACTERS: Final = 320
HOLD_MAX_SECONDS: Final = 86_400
EXPIRY_MAX_SECONDS: Final = 366 * 86_400
REMINDER_LEAST_SECONDS: Final = 60

GROUP_PREFIX: Final = "group:"
GROUP_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


class Duty(StrEnum):
    """Who may not be the approver (separation of duties). The agent's own key never decides, whatever a policy says."""

    AGENT_OWNER = "agent_owner"
    """The person who created the agent, and the person whom its ``owner`` names."""
    POLICY_AUTHOR = "policy_author"
    """The person who saved the policy version that requires the approval."""


class RoleSlot(Struct, frozen=True, order=True):
    """The number of approvals that must come from different members of one group."""

    group: str
    count: int = 1


class ApprovalTerms(Struct, frozen=True):
    """A policy's ``approval`` object. None: the default applies.

    ``required_approvals`` is at least the sum of ``roles``. ``assignees`` and ``escalate_to`` name users by id or
    e-mail address, and groups as ``group:name``.
    """

    required_approvals: int = 1
    assignees: tuple[str, ...] = ()
    hold_seconds: float | None = None
    expires_in_seconds: int | None = None
    escalate_after_seconds: int | None = None
    denials_required: int = 1
    separation_of_duties: tuple[Duty, ...] = ()
    roles: tuple[RoleSlot, ...] = ()
    escalate_to: tuple[str, ...] = ()
    remind_after_seconds: int | None = None
    grants: GrantTerms = DEFAULT_GRANT_TERMS


DEFAULT_TERMS: Final = ApprovalTerms()


def parse_terms(value: JsonValue) -> ApprovalTerms:
    """Raises AnswerError, which names the member."""
    if not isinstance(value, dict):
        raise AnswerError(f"approval must be an object, not {describe(value)}")
    check_members(value)
    # Each parser returns its member's type, which a table cannot say.
    given: dict[str, Any] = {name: _MEMBERS[name](f"approval.{name}", member) for name, member in value.items()}
    from_roles = sum(slot.count for slot in given.get("roles", ()))
    given.setdefault("required_approvals", max(from_roles, 1))
    terms = ApprovalTerms(**given)
    _check_can_be_met(terms, from_roles)
    return terms


def check_members(names: Iterable[str]) -> None:
    """Raises AnswerError for a name that ``approval`` does not have."""
    if unknown := sorted(set(names) - _MEMBERS.keys()):
        raise AnswerError(f"approval has no member {unknown[0][:40]!r}; it has {', '.join(_MEMBERS)}")


def check_member(name: str, value: JsonValue) -> None:
    """Raises AnswerError where ``approval`` has no such member, or the member cannot be this."""
    check_members({name})
    _MEMBERS[name](f"approval.{name}", value)


def _check_can_be_met(terms: ApprovalTerms, from_roles: int) -> None:
    if terms.required_approvals < from_roles:
        raise AnswerError(
            f"approval.required_approvals is {terms.required_approvals}, and approval.roles ask for {from_roles}"
        )
    named = terms.assignees
    if not named or any(one.startswith(GROUP_PREFIX) for one in named):
        return  # The policy does not know how many members a group has.
    if (rest := terms.required_approvals - from_roles) > len(named):
        raise AnswerError(f"approval.required_approvals is {rest}, and only {len(named)} assignees could give one")
    if not terms.roles and terms.denials_required > len(named):
        raise AnswerError(
            f"approval.denials_required is {terms.denials_required}, and only {len(named)} assignees could give one"
        )


def _hold_seconds(name: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HOLD_MAX_SECONDS:
        raise AnswerError(f"{name} must be a number of seconds from 0 to {HOLD_MAX_SECONDS}, not {describe(value)}")
    return float(value)


def _remind_after_seconds(name: str, value: JsonValue) -> int:
    seconds = whole_number(name, value, EXPIRY_MAX_SECONDS)
    if seconds < REMINDER_LEAST_SECONDS:
        raise AnswerError(
            f"{name} must be at least {REMINDER_LEAST_SECONDS}, not {seconds}: "
            "reminders must leave people time to answer"
        )
    return seconds


def _assignees(name: str, value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > ASSIGNEES_MAX:
        raise AnswerError(f"{name} must be a set or list of at most {ASSIGNEES_MAX} users, not {describe(value)}")
    for item in value:
        if not isinstance(item, str) or not item.strip() or "\0" in item or len(item) > ASSIGNEE_MAX_CHARACTERS:
            raise AnswerError(f"{name} must name users by id or e-mail address, or group:name, not {describe(item)}")
        if item.startswith(GROUP_PREFIX) and not GROUP_NAME.fullmatch(item.removeprefix(GROUP_PREFIX)):
            raise AnswerError(f"{name}: {item[:80]!r} names no group: lower case, digits, - and _ after {GROUP_PREFIX}")
    return tuple(sorted({item for item in value if isinstance(item, str)}))


def _roles(name: str, value: JsonValue) -> tuple[RoleSlot, ...]:
    """A set or list of groups, one approval each, or an object from group to number."""
    counts: dict[str, int] = {}
    if isinstance(value, dict):
        counts = {group: whole_number(f"{name}.{group[:64]}", count, APPROVALS_MAX) for group, count in value.items()}
    elif isinstance(value, list):
        for item in value:
            if not isinstance(item, str):
                raise AnswerError(f"{name} must name groups, not {describe(item)}")
            counts[item] = counts.get(item, 0) + 1
    else:
        raise AnswerError(f"{name} must be a set or list of groups, or an object of numbers, not {describe(value)}")
    slots: dict[str, int] = {}
    for written, count in counts.items():
        group = written.removeprefix(GROUP_PREFIX)
        if not GROUP_NAME.fullmatch(group):
            raise AnswerError(f"{name}: {written[:80]!r} names no group: lower case, digits, - and _")
        slots[group] = slots.get(group, 0) + count
    if sum(slots.values()) > APPROVALS_MAX:
        raise AnswerError(f"{name} ask for more than {APPROVALS_MAX} approvals")
    return tuple(sorted(RoleSlot(group, count) for group, count in slots.items()))


def _separation_of_duties(name: str, value: JsonValue) -> tuple[Duty, ...]:
    """True: both. A set or list names them."""
    if isinstance(value, bool):
        return tuple(Duty) if value else ()
    if not isinstance(value, list):
        raise AnswerError(f"{name} must be a boolean or a set or list, not {describe(value)}")
    known = [duty.value for duty in Duty]
    for item in value:
        if not isinstance(item, str) or item not in known:
            shown = f'"{item[:40]}"' if isinstance(item, str) else describe(item)
            raise AnswerError(f"{name} knows {', '.join(known)}, not {shown}")
    return tuple(duty for duty in Duty if duty.value in value)


def _grants(name: str, value: JsonValue) -> GrantTerms:
    try:
        return parse_grant_terms(name, value)
    except ValueError as error:
        raise AnswerError(str(error)) from error


_MEMBERS: Final[dict[str, Callable[[str, JsonValue], object]]] = {
    "required_approvals": lambda name, value: whole_number(name, value, APPROVALS_MAX),
    "expires_in_seconds": lambda name, value: whole_number(name, value, EXPIRY_MAX_SECONDS),
    "hold_seconds": _hold_seconds,
    "assignees": _assignees,
    "escalate_after_seconds": lambda name, value: whole_number(name, value, EXPIRY_MAX_SECONDS),
    "escalate_to": _assignees,
    "remind_after_seconds": _remind_after_seconds,
    "denials_required": lambda name, value: whole_number(name, value, APPROVALS_MAX),
    "separation_of_duties": _separation_of_duties,
    "roles": _roles,
    "grants": _grants,
}
