"""What is done with an organization's NLP policies."""

from dataclasses import replace

from headgate.audit.model import Actor, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import ConflictError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.nlp_policies.check import checked_draft
from headgate.nlp_policies.document import document_of, stored_text
from headgate.nlp_policies.model import POLICIES_MAX, NlpDraft, NlpPolicy
from headgate.nlp_policies.provider_service import provider_settings
from headgate.nlp_policies.store import (
    count_nlp_policies,
    get_nlp_policy,
    insert_nlp_policy,
    mark_nlp_policy_deleted,
    update_nlp_policy,
)
from headgate.organizations.store import bump_generation
from headgate.policies.versions import ExpectedVersion


async def create_nlp_policy(
    connection: Connection, org_id: str, draft: NlpDraft, *, actor: Actor, user_id: str | None, clock: Clock
) -> NlpPolicy:
    """In force with the next decision. Raises ValidationError, and ConflictError at the limit."""
    generation = await bump_generation(connection, org_id)  # locks: creations of one organization are ordered
    checked = checked_draft(draft, await provider_settings(connection, org_id))
    if await count_nlp_policies(connection, org_id) >= POLICIES_MAX:
        raise ConflictError(f"an organization has at most {POLICIES_MAX} NLP policies", details={"limit": POLICIES_MAX})
    now = clock()
    policy = NlpPolicy(org_id, new_id(IdPrefix.NLP_POLICY), 1, checked, now, now)
    await insert_nlp_policy(connection, policy, user_id)
    await append(connection, org_id, [_event(EventType.NLP_POLICY_CREATED, policy, generation, actor, clock)])
    return policy


async def change_nlp_policy(
    connection: Connection,
    policy: NlpPolicy,
    draft: NlpDraft,
    *,
    actor: Actor,
    user_id: str | None,
    clock: Clock,
    expected: ExpectedVersion | None = None,
) -> NlpPolicy:
    """``draft`` as the next version of ``policy``; the same one where nothing differs.

    Raises ValidationError, and ConflictError or PreconditionFailedError where somebody changed it meanwhile.
    """
    if expected is not None:
        expected.require(policy.version)
    generation = await bump_generation(connection, policy.org_id)
    checked = checked_draft(draft, await provider_settings(connection, policy.org_id))
    if checked == policy.draft:
        return policy
    changed = replace(policy, version=policy.version + 1, draft=checked, updated_at=clock())
    await update_nlp_policy(connection, changed, user_id)
    event = _event(EventType.NLP_POLICY_UPDATED, changed, generation, actor, clock)
    await append(connection, policy.org_id, [event])
    return changed


async def delete_nlp_policy(
    connection: Connection,
    org_id: str,
    policy_id: str,
    *,
    actor: Actor,
    clock: Clock,
    expected: ExpectedVersion | None = None,
) -> NlpPolicy:
    """It judges no more; its versions stay. Raises NotFoundError, ConflictError, PreconditionFailedError."""
    generation = await bump_generation(connection, org_id)  # locks: what is compared next stays as it is
    before = await get_nlp_policy(connection, org_id, policy_id)
    if expected is not None:
        expected.require(before.version)
    policy = await mark_nlp_policy_deleted(connection, org_id, policy_id)
    await append(connection, org_id, [_event(EventType.NLP_POLICY_DELETED, policy, generation, actor, clock)])
    return policy


def _event(event_type: EventType, policy: NlpPolicy, generation: int, actor: Actor, clock: Clock) -> Event:
    """The prompt itself may hold what is nobody's business for ever (a list of names): its digest is recorded."""
    data: JsonObject = {name: value for name, value in document_of(policy.draft).items() if name != "prompt"}
    data |= {
        "policy_id": policy.policy_id,
        "version": policy.version,
        "document_sha256": sha256_hex(stored_text(policy.draft).encode()),
        "generation": generation,
    }
    return Event(event_type, clock(), actor, data)
