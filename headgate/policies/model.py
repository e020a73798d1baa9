"""Rule policies, a policy's verdict on one call, and the resulting decision.

Frozen types without I/O. The specification's sections "Rule policy" and "Decision object" name the fields;
docs/reference/policies.md defines what it leaves open.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.grant_terms import DEFAULT_GRANT_TERMS, GrantTerms
from headgate.policies.terms import DEFAULT_TERMS, ApprovalTerms, Duty, RoleSlot
from headgate.traffic.model import CaptureLevel

NAME_MAX_CHARACTERS: Final = 255
DESCRIPTION_MAX_CHARACTERS: Final = 1000
PRIORITY_MAX: Final = 1000
DEFAULT_PRIORITY: Final = 100
SEEDED_PRIORITY: Final = 1000  # So that any policy of the user's runs first.
REGO_MAX_BYTES: Final = 64 * 1024
CASES_MAX_BYTES: Final = 64 * 1024
NO_CASES: Final = "[]"
POLICIES_MAX: Final = 500


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    DENY = "deny"
    REQUIRE_APPROVAL = "require_approval"


class FoundText(Struct, frozen=True):
    """What a content policy masks: characters of the text at ``path`` of the judged content, and their kind."""

    path: tuple[str | int, ...]
    start: int
    end: int
    kind: str


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class PolicyMode(StrEnum):
    """A policy's effect: its verdict is enforced, or only recorded."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


class RulePolicy(Struct, frozen=True):
    """One version of a policy. ``quarantine`` is why it is not evaluated (it denies instead).

    ``org_id`` is empty for a draft, which belongs to no organization. ``rules`` is the source of the Rego if it came
    from the camelCase shape (canonical JSON).
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
    cases: str = NO_CASES
    """Its test cases, a canonical JSON array. They are kept with each version."""


class Requirement(Struct, frozen=True):
    """One policy's requirements for an approval. Without ``assignees``, any approver may decide.

    ``assignees`` is what the policy set and does not change; ``reassigned`` is a person's change, ``is_escalated`` the
    clock's. ``named`` combines them into the current assignees, so a reassigned approval keeps its policy's
    requirements.
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
        """The current assignees without duplicates; empty: any approver."""
        asked = self.assignees if self.reassigned is None else self.reassigned
        if asked and self.is_escalated:
            return tuple(dict.fromkeys([*asked, *self.escalate_to]))
        return asked

    @property
    def free_slots(self) -> int:
        """The number of approvals that need no role."""
        return max(self.required_approvals - sum(slot.count for slot in self.roles), 0)

    def record(self) -> JsonObject:
        """The stored, shown and recorded form; default values are omitted."""
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


class PolicyVerdict(Struct, frozen=True):
    """One policy's verdict on one call. ``verdict`` None: none. ``error``: the policy failed, so it denies.

    ``capture``: how much of the call may be kept for review; None: unspecified.
    """

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
        """The reason in the policy's words: the error, its ``reason``, or its messages. None: it gave none."""
        return self.error or self.reason or ("; ".join(self.messages) if self.messages else None)

    def record(self) -> JsonObject:
        entry: JsonObject = {
            "id": self.policy_id,
            "version": self.version,
            "decision": None if self.verdict is None else self.verdict.value,
        }
        if (reason := self.explanation()) is not None:
            entry["reason"] = reason
        if self.risk_level is not None:
            entry["risk_level"] = self.risk_level.value
        if self.error is not None:
            entry["error"] = True
        return entry


class Decision(Struct, frozen=True):
    """The decision about a call, and the policies behind it.

    ``spoken`` are the policies of the deciding priority that decided, in the order of evaluation; their versions made
    the decision. ``policy_id`` is the first of them with the deciding verdict; None: no policy decided.
    ``requirements``: one per policy that requires approval, all to be met; empty unless the verdict is
    require_approval. Times are None if no policy sets them. ``nlp``: an entry for each NLP policy that ran.
    ``exempted_by``: the grant or break-glass use that allows what ``spoken`` would not. ``capture``: the least that any
    of ``spoken`` permits; None: unspecified. ``is_final``: a destination rule, a stop or a canary token denies it, and
    no exemption overrides that. ``canaries``: an entry for each canary token that the call holds. ``to_mask``: what
    content policies would replace. ``masked``: what was replaced in the call that was decided, ``{count, kinds}``.
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
    canaries: tuple[JsonObject, ...] = ()
    to_mask: tuple[FoundText, ...] = ()
    masked: JsonObject | None = None

    def record(self) -> JsonObject:
        """The specification's decision object, with the policy versions behind it."""
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
        if self.canaries:
            record["canaries"] = list(self.canaries)
        if self.masked is not None:
            record["masked"] = self.masked
        if self.exempted_by is not None:
            record["exempted_by"] = self.exempted_by
        if self.hold_seconds is not None:
            record["hold_seconds"] = self.hold_seconds
        return record


def requirements_cover(held: tuple[Requirement, ...], wanted: tuple[Requirement, ...]) -> bool:
    """Whether an approval that met ``held`` may serve a call for which the current policies require ``wanted``.

    True only if the new requirements demand no more. Each wanted requirement needs a held one of the same policy with
    at least as many approvals, as many from each role, no more denials needed to reject, and at least the same
    separation of duties. If the wanted one names assignees, the held one names only assignees among them. A held
    requirement without assignees was open to any approver, so it never covers one with assignees.
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
