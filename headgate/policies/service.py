"""What is done with an organization's rule policies."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from headgate.audit.model import SYSTEM, Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, JsonValue, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.store import bump_generation
from headgate.policies.compile import compile_policy
from headgate.policies.conditions import UNKNOWN_CONDITIONS, Conditions
from headgate.policies.defaults import default_policies
from headgate.policies.model import (
    DEFAULT_PRIORITY,
    DESCRIPTION_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    POLICIES_MAX,
    PRIORITY_MAX,
    REGO_MAX_BYTES,
    RulePolicy,
)
from headgate.policies.shadowing import hidden_by_allow
from headgate.policies.store import count_policies, insert_policy, load_enabled, mark_deleted
from headgate.policies.trial import try_policy


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """What somebody wants to be a policy (the specification's create body)."""

    name: str
    rego_policy: str
    description: str | None = None
    enabled: bool = True
    priority: int = DEFAULT_PRIORITY


@dataclass(frozen=True, slots=True)
class CheckedPolicy:
    """A draft that compiled and came through its trial; the only thing that can be stored."""

    draft: PolicyDraft
    data: bytes
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreatedPolicy:
    """``warnings``: what whoever saved it should know, in sentences."""

    policy: RulePolicy
    warnings: tuple[str, ...]


async def check_policy(draft: PolicyDraft, data: bytes) -> CheckedPolicy:
    """Check limits, compile, and try in a child. Takes a fraction of a second: hold no transaction meanwhile.

    ``data``: the organization's policy data. Raises ValidationError, for bad Rego with file, line, column and
    the source line as ``details``.
    """
    _check_limits(draft)
    report = await try_policy(draft.rego_policy, data)
    return CheckedPolicy(draft, data, report.warnings)


def _check_limits(draft: PolicyDraft) -> None:
    _check("name", 1 <= len(draft.name) <= NAME_MAX_CHARACTERS, f"1 to {NAME_MAX_CHARACTERS} characters")
    _check(
        "description",
        draft.description is None or len(draft.description) <= DESCRIPTION_MAX_CHARACTERS,
        f"at most {DESCRIPTION_MAX_CHARACTERS} characters",
    )
    _check("priority", 0 <= draft.priority <= PRIORITY_MAX, f"a whole number from 0 to {PRIORITY_MAX}")
    _check("rego_policy", bool(draft.rego_policy.strip()), "a Rego policy, not nothing")
    _check(
        "rego_policy",
        len(draft.rego_policy.encode(errors="surrogatepass")) <= REGO_MAX_BYTES,
        f"at most {REGO_MAX_BYTES} bytes",
    )
    for field, text in (("name", draft.name), ("description", draft.description), ("rego_policy", draft.rego_policy)):
        # PostgreSQL's text holds neither; the name is said here, rather than by the driver.
        _check(field, text is None or not _UNSTORABLE & set(text), "text without NUL and lone surrogates")


_UNSTORABLE = frozenset("\0") | frozenset(map(chr, range(0xD800, 0xE000)))


def _check(field: str, holds: bool, expected: str) -> None:
    if not holds:
        raise ValidationError(f"{field} must be {expected}", details={"field": field, "reason": f"must be {expected}"})


async def create_policy(
    connection: Connection,
    org_id: str,
    checked: CheckedPolicy,
    *,
    actor: Actor,
    user_id: str | None,
    clock: Clock,
) -> CreatedPolicy:
    """Store it, make decisions in flight stale, and record who did it. Raises ConflictError at the limit."""
    generation = await bump_generation(connection, org_id)  # locks: creations of one organization are ordered
    if await count_policies(connection, org_id) >= POLICIES_MAX:
        raise ConflictError(
            f"an organization has at most {POLICIES_MAX} rule policies: delete some first",
            details={"limit": POLICIES_MAX},
        )
    policy = _new_policy(org_id, checked.draft, clock)
    others = await load_enabled(connection, org_id)
    # In a thread: what this process has not compiled yet would stop its event loop for a millisecond each.
    warnings = checked.warnings + await asyncio.to_thread(_shadowing, policy, others, checked.data)
    await insert_policy(connection, org_id, policy, user_id)
    await append(connection, org_id, [_event(EventType.POLICY_CREATED, policy, generation, actor, clock)])
    return CreatedPolicy(policy, warnings)


def _new_policy(org_id: str, draft: PolicyDraft, clock: Clock) -> RulePolicy:
    now = clock()
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
    )


def _shadowing(policy: RulePolicy, others: Iterable[RulePolicy], data: bytes) -> tuple[str, ...]:
    if not policy.enabled:
        return ()
    return hidden_by_allow((policy, _conditions(policy, data)), [(other, _conditions(other, data)) for other in others])


def _conditions(policy: RulePolicy, data: bytes) -> Conditions:
    if policy.quarantine is not None:
        return UNKNOWN_CONDITIONS
    try:
        return compile_policy(policy.rego_policy, data).conditions
    except ValidationError:
        return UNKNOWN_CONDITIONS  # it denies whatever it would have decided


async def delete_policy(
    connection: Connection, org_id: str, policy_id: str, *, actor: Actor, clock: Clock
) -> RulePolicy:
    """It decides no more. Its versions stay, for the decisions that they made. Raises NotFoundError."""
    generation = await bump_generation(connection, org_id)
    policy = await mark_deleted(connection, org_id, policy_id)
    await append(connection, org_id, [_event(EventType.POLICY_DELETED, policy, generation, actor, clock)])
    return policy


async def seed_default_policies(connection: Connection, org_id: str, *, clock: Clock) -> list[RulePolicy]:
    """The policies that a new organization starts with; none where it has ever had a policy of any kind."""
    generation = await bump_generation(connection, org_id)
    if await count_policies(connection, org_id, deleted_too=True):
        return []
    seeded: list[RulePolicy] = []
    for default in default_policies():
        draft = PolicyDraft(default.name, default.rego_policy, default.description, priority=default.priority)
        policy = _new_policy(org_id, draft, clock)
        await insert_policy(connection, org_id, policy, None)
        await append(connection, org_id, [_event(EventType.POLICY_CREATED, policy, generation, SYSTEM, clock)])
        seeded.append(policy)
    return seeded


def _event(event_type: EventType, policy: RulePolicy, generation: int, actor: Actor, clock: Clock) -> Event:
    data: dict[str, JsonValue] = {
        "policy_id": policy.policy_id,
        "version": policy.version,
        "name": policy.name,
        "enabled": policy.enabled,
        "priority": policy.priority,
        "rego_sha256": sha256_hex(policy.rego_policy.encode()),
        "generation": generation,
    }
    document: JsonObject = data
    return Event(event_type, clock(), actor, document)
