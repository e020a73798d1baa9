"""Converts a policy between its editor and the API."""

from typing import Final

from msgspec import Struct

from admin_api.policies.schemas import PolicyAnswer, PolicyToCheck
from admin_api.web.form import Form, checked, whole_number
from admin_api.web.policy_cases import yaml_of

_FIELDS: Final = ("name", "description", "priority", "mode", "rego_policy", "change_note", "version")
_START: Final = """package policies.my_policy

# Held: payments of more than 100.
require_approval contains reason if {
	input.tool == "stripe"
	input.params.amount > 100
	reason := "payments of more than 100 need a person"
}
"""


class Draft(Struct, frozen=True):
    """What the editor shows: what is in force, what was typed, or a suggestion. ``version`` empty: a new one. ``cases``
    are YAML."""

    name: str = ""
    description: str = ""
    priority: str = "100"
    mode: str = "enforce"
    enabled: bool = True
    rego_policy: str = _START
    change_note: str = ""
    version: str = ""
    cases: str = ""


def draft_from(form: Form) -> Draft:
    given = {name: form.text(name) for name in _FIELDS}
    # Their blank lines at the ends stay.
    whole = {name: form.fields.get(name, [""])[0] for name in ("rego_policy", "cases")}
    return Draft(**(given | whole), enabled="enabled" in form.fields)


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
        yaml_of(policy.cases),
    )


def values_of(draft: Draft) -> dict[str, object]:
    """Raises ValidationError."""
    return {
        "name": draft.name,
        "description": draft.description or None,
        "priority": whole_number(draft.priority, "priority"),
        "mode": draft.mode,
        "rego_policy": draft.rego_policy or None,
        "enabled": draft.enabled,
        "change_note": draft.change_note or None,
        "version": whole_number(draft.version, "version") if draft.version else None,
    }


def body_to_check(policy_id: str | None, draft: Draft) -> PolicyToCheck:
    """Raises ValidationError."""
    return checked(
        PolicyToCheck,
        {
            "rego_policy": draft.rego_policy or None,
            "name": draft.name or None,
            "priority": whole_number(draft.priority, "priority"),
            "mode": draft.mode,
            "policy_id": policy_id,
        },
    )
