"""A policy as its editor holds it: from the version in force or a form to what the API takes; what is said of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from admin_api.policies.schemas import PolicyAnswer, PolicyToCheck
from admin_api.web.form import Form, checked
from admin_api.web.replay import ReplayShown
from headgate.kernel.errors import HeadgateError, ValidationError

_FIELDS: Final = ("name", "description", "priority", "mode", "rego_policy", "change_note", "version")
_START: Final = """package policies.my_policy

# Held: payments of more than 100.
require_approval contains reason if {
	input.tool == "stripe"
	input.params.amount > 100
	reason := "payments of more than 100 need a person"
}
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the editor shows: what is in force, what was typed, or a suggestion. ``version`` empty: a new one."""

    name: str = ""
    description: str = ""
    priority: str = "100"
    mode: str = "enforce"
    enabled: bool = True
    rego_policy: str = _START
    change_note: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """About what was sent. ``line`` is of the source, from 1 on."""

    message: str | None = None
    line: int | None = None
    warnings: Sequence[str] = ()
    is_valid: bool = False
    replay: ReplayShown | None = None
    status: int = 200


def draft_from(form: Form) -> Draft:
    given = {name: form.text(name) for name in _FIELDS}
    source = form.fields.get("rego_policy", [""])[0]  # its blank lines at the ends stay
    return Draft(**(given | {"rego_policy": source}), enabled="enabled" in form.fields)


def draft_of(policy: PolicyAnswer) -> Draft:
    return Draft(
        policy.name,
        policy.description or "",
        str(policy.priority),
        policy.mode.value,
        policy.enabled,
        policy.rego_policy,
        "",
        str(policy.version),
    )


def values_of(draft: Draft) -> dict[str, object]:
    """Raises ValidationError."""
    return {
        "name": draft.name,
        "description": draft.description or None,
        "priority": whole_number(draft.priority),
        "mode": draft.mode,
        "rego_policy": draft.rego_policy or None,
        "enabled": draft.enabled,
        "change_note": draft.change_note or None,
        "version": whole_number(draft.version) if draft.version else None,
    }


def body_to_check(policy_id: str | None, draft: Draft) -> PolicyToCheck:
    """Raises ValidationError."""
    return checked(
        PolicyToCheck,
        {
            "rego_policy": draft.rego_policy or None,
            "name": draft.name or None,
            "priority": whole_number(draft.priority),
            "mode": draft.mode,
            "policy_id": policy_id,
        },
    )


def said_of(error: HeadgateError) -> Said:
    line = (error.details or {}).get("line")
    return Said(message=error.message, line=line if isinstance(line, int) else None, status=error.http_status)


def whole_number(text: str) -> int:
    """Raises ValidationError."""
    if not text.isascii() or not text.isdigit() or len(text) > len("999999999"):
        raise ValidationError(f"{text[:32]!r} is not a whole number.", details={"field": "priority"})
    return int(text)
