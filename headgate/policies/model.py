"""Rule policies, what one of them says about a call, and the decision that follows from all of them.

Frozen types without I/O. The specification's sections "Rule policy" and "Decision object" name the fields;
what it leaves open is in docs/reference/policies.md.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.grant_terms import DEFAULT_GRANT_TERMS, GrantTerms
from headgate.policies.terms import DEFAULT_TERMS, ApprovalTerms, Duty, RoleSlot
from headgate.traffic.model import CaptureLevel

NAME_MAX_CHARACTERS: Final = 255
DESCRIPTION_MAX_CHARACTERS: Final = 1000
PRIORITY_MAX: Final = 1000
DEFAULT_PRIORITY: Final = 100
SEEDED_PRIORITY: Final = 1000  # so that any policy of the user's comes first
REGO_MAX_BYTES: Final = 64 * 1024
POLICIES_MAX: Final = 500


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    DENY = "deny"
    REQUIRE_APPROVAL = "require_approval"


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class PolicyMode(StrEnum):
    """What a policy's word is worth: it decides, or is only recorded beside the decision."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """One version of a policy. ``quarantine`` is why it is not evaluated any more (it denies instead).

    ``org_id`` is empty where the policy belongs to no organization (a draft). ``rules`` is what the Rego was made
    from, where that was the camelCase shape (canonical JSON).
    """

    policy_id: str
    version: int
    name: str
    description: str | None
    rego_policy: str
    enabled: bool
    priority: int
    quarantine: str | None
    created_at: datetime
    updated_at: datetime
    org_id: str = ""
    mode: PolicyMode = PolicyMode.ENFORCE
    rules: str | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one policy demands of an approval. No ``assignees``: whoever may approve, may approve this.

    ``assignees`` is the policy's word and stays so; ``reassigned`` is a person's, and ``is_escalated`` the clock's:
    who is asked now is ``named``. So a reassigned approval still holds what its policy demanded.
    """

    policy_id: str
    policy_version: int
    required_approvals: int
    assignees: tuple[str, ...] = ()
    denials_required: int = 1
    separation_of_duties: tuple[Duty, ...] = ()
    roles: tuple[RoleSlot, ...] = ()
    escalate_to: tuple[str, ...] = ()
    reassigned: tuple[str, ...] | None = None
    is_escalated: bool = False
    grants: GrantTerms = DEFAULT_GRANT_TERMS

    @property
    def named(self) -> tuple[str, ...]:
        """Who is asked now, once each; nobody: whoever may approve."""
        asked = self.assignees if self.reassigned is None else self.reassigned
        if asked and self.is_escalated:
            return tuple(dict.fromkeys([*asked, *self.escalate_to]))
        return asked

    @property
    def free_slots(self) -> int:
        """How many of the approvals need no member of a role's group."""
        return max(self.required_approvals - sum(slot.count for slot in self.roles), 0)

    def record(self) -> JsonObject:
        """As it is stored, shown and recorded; what is as usual is left out."""
        record: JsonObject = {
            "policy_id": self.policy_id,
            "policy_version": self.policy_version,
            "required_approvals": self.required_approvals,
            "assignees": list(self.assignees),
        }
        if self.denials_required != 1:
            record["denials_required"] = self.denials_required
        if self.separation_of_duties:
            record["separation_of_duties"] = [duty.value for duty in self.separation_of_duties]
        if self.roles:
            record["roles"] = {slot.group: slot.count for slot in self.roles}
        if self.escalate_to:
            record["escalate_to"] = list(self.escalate_to)
        if self.reassigned is not None:
            record["reassigned"] = list(self.reassigned)
        if self.is_escalated:
            record["escalated"] = True
        if self.grants != DEFAULT_GRANT_TERMS:
            record["grants"] = self.grants.record()
        return record


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """What one policy says about one call. ``verdict`` None: nothing. ``error``: it could not say, so it denies.
    ``capture``: how much of the call may be kept for review; None: it does not say."""

    policy_id: str
    version: int
    priority: int
    verdict: Verdict | None
    messages: tuple[str, ...] = ()
    reason: str | None = None
    risk_level: RiskLevel | None = None
    terms: ApprovalTerms = DEFAULT_TERMS
    error: str | None = None
    capture: CaptureLevel | None = None

    def explanation(self) -> str | None:
        """Why, in the policy's own words: the error, its ``reason``, or its messages. None: it gave none."""
        return self.error or self.reason or ("; ".join(self.messages) if self.messages else None)

    def record(self) -> JsonObject:
        entry: JsonObject = {
            "id": self.policy_id,
            "version": self.version,
            "decision": None if self.verdict is None else self.verdict.value,
        }
        if (reason := self.explanation()) is not None:
            entry["reason"] = reason
        if self.error is not None:
            entry["error"] = True
        return entry


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a call, and who said so.

    ``spoken`` are the policies of the deciding priority that said anything, in the order they were asked;
    the versions that made the decision are theirs. ``policy_id`` is the first of them that said what was
    decided; None: nobody spoke. ``requirements``: one per policy that asks, all to be met; empty unless the
    verdict is require_approval. Times are None where no policy names one. ``nlp``: an entry for each NLP policy
    that ran. ``exempted_by``: the grant, or the broken glass, that lets through what ``spoken`` would not.
    ``capture``: the least that any of ``spoken`` lets be kept for review; None: none of them says. ``is_final``: a
    closed destination or a stop denies it, which no exemption goes around.
    """

    verdict: Verdict
    reason: str
    risk_level: RiskLevel
    policy_id: str | None
    evaluation_time_ms: float
    spoken: tuple[PolicyVerdict, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    hold_seconds: float | None = None
    expires_in_seconds: int | None = None
    escalate_after_seconds: int | None = None
    remind_after_seconds: int | None = None
    nlp: tuple[JsonObject, ...] = ()
    exempted_by: str | None = None
    capture: CaptureLevel | None = None
    is_final: bool = False

    def record(self) -> JsonObject:
        """The decision object of the specification, and the policy versions that made it."""
        policies: list[JsonValue] = [spoken.record() for spoken in self.spoken]
        record: JsonObject = {
            "decision": self.verdict.value,
            "reason": self.reason,
            "risk_level": self.risk_level.value,
            "policy_id": self.policy_id,
            "evaluation_time_ms": self.evaluation_time_ms,
            "policies": policies,
        }
        if self.nlp:
            record["nlp"] = list(self.nlp)
        if self.exempted_by is not None:
            record["exempted_by"] = self.exempted_by
        return record


def requirements_cover(held: tuple[Requirement, ...], wanted: tuple[Requirement, ...]) -> bool:
    """Whether an approval that met ``held`` may serve a call for which the policies of now want ``wanted``.

    True only where nothing more is demanded: each wanted requirement has a held one of the same policy that
    took at least as many approvals, as many of them from each role, bore no more denials, kept the same people apart
    and, where the wanted one names assignees, was asked of some of them only. A held requirement without assignees was
    open to anybody and so never covers one that names some.
    """
    return all(any(_covers(one, want) for one in held) for want in wanted)


def _covers(held: Requirement, wanted: Requirement) -> bool:
    if (
        held.policy_id != wanted.policy_id
        or held.required_approvals < wanted.required_approvals
        or held.denials_required > wanted.denials_required
        or not set(held.separation_of_duties) >= set(wanted.separation_of_duties)
    ):
        return False
    from_roles = {slot.group: slot.count for slot in held.roles}
    if any(from_roles.get(slot.group, 0) < slot.count for slot in wanted.roles):
        return False
    if not wanted.assignees:
        return True
    return bool(held.assignees) and set(held.assignees) <= set(wanted.assignees)
