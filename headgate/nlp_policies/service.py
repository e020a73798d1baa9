"""What is done with an organization's NLP policies."""

from msgspec.structs import replace

from headgate.audit.model import EventType
from headgate.kernel.canonical_json import JsonObject, sha256_hex
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
from headgate.nlp_policies.templates import SEEDED_PROFILE, draft_of_template, templates
from headgate.organizations.change import OrganizationChange
from headgate.policies.versions import ExpectedVersion


async def create_nlp_policy(change: OrganizationChange, draft: NlpDraft) -> NlpPolicy:
    """In force with the next decision. Raises ValidationError, and ConflictError at the limit."""
    await change.raise_generation()  # locks: creations of one organization are ordered
    checked = checked_draft(draft, await provider_settings(change.connection, change.org_id))
    if await count_nlp_policies(change.connection, change.org_id) >= POLICIES_MAX:
        raise ConflictError(f"at most {POLICIES_MAX} content policies are allowed", details={"limit": POLICIES_MAX})
    policy = NlpPolicy(change.org_id, new_id(IdPrefix.NLP_POLICY), 1, checked, change.at, change.at)
    await insert_nlp_policy(change.connection, policy, change.user_id)
    await _record(change, EventType.NLP_POLICY_CREATED, policy)
    return policy


async def seed_default_nlp_policies(change: OrganizationChange) -> list[NlpPolicy]:
    """Seeds the profile ``balanced`` for a new organization; nothing if it has ever had a content policy."""
    await change.raise_generation()
    if await count_nlp_policies(change.connection, change.org_id, deleted_too=True):
        return []
    return [
        await create_nlp_policy(change, draft_of_template(one)) for one in templates() if SEEDED_PROFILE in one.profiles
    ]


async def change_nlp_policy(
    change: OrganizationChange, policy: NlpPolicy, draft: NlpDraft, *, expected: ExpectedVersion | None = None
) -> NlpPolicy:
    """``draft`` as the next version of ``policy``; the same one where nothing differs.

    Raises ValidationError, and ConflictError or PreconditionFailedError where somebody changed it meanwhile.
    """
    if expected is not None:
        expected.require(policy.version)
    await change.raise_generation()
    checked = checked_draft(draft, await provider_settings(change.connection, change.org_id))
    if checked == policy.draft:
        return policy
    changed = replace(policy, version=policy.version + 1, draft=checked, updated_at=change.at)
    await update_nlp_policy(change.connection, changed, change.user_id)
    await _record(change, EventType.NLP_POLICY_UPDATED, changed)
    return changed


async def delete_nlp_policy(
    change: OrganizationChange, policy_id: str, *, expected: ExpectedVersion | None = None
) -> NlpPolicy:
    """It judges no more; its versions stay. Raises NotFoundError, ConflictError, PreconditionFailedError."""
    await change.raise_generation()  # locks: what is compared next stays as it is
    before = await get_nlp_policy(change.connection, change.org_id, policy_id)
    if expected is not None:
        expected.require(before.version)
    policy = await mark_nlp_policy_deleted(change.connection, change.org_id, policy_id)
    await _record(change, EventType.NLP_POLICY_DELETED, policy)
    return policy


async def _record(change: OrganizationChange, event_type: EventType, policy: NlpPolicy) -> None:
    """The prompt itself may hold what is nobody's business for ever (a list of names): its digest is recorded."""
    data: JsonObject = {name: value for name, value in document_of(policy.draft).items() if name != "prompt"}
    data |= {
        "policy_id": policy.policy_id,
        "version": policy.version,
        "document_sha256": sha256_hex(stored_text(policy.draft).encode()),
        "generation": await change.raise_generation(),
    }
    await change.record(event_type, data)
