"""Breaking the glass, and looking at it afterwards. A transaction is the caller's."""

from datetime import timedelta

from msgspec.structs import replace

from headgate.approvals.store import standing_denial
from headgate.approvals.voting import Voter
from headgate.audit.model import EventType
from headgate.break_glass.model import (
    REASON_MAX_CHARACTERS,
    SECONDS_MAX,
    WAITING_MAX,
    BrokenGlass,
    Review,
    ReviewOutcome,
)
from headgate.break_glass.store import end_glass, find_denied, find_glass, insert_glass, save_review, waiting_glasses
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, ForbiddenError, ValidationError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.change import OrganizationChange


async def break_glass(
    change: OrganizationChange, person: Voter, *, action_id: str, reason: str, lifetime_seconds: int
) -> BrokenGlass:
    """Let the next call through that is exactly this denied one.

    Raises ForbiddenError, NotFoundError, ConflictError (it was not a policy that denied it, or a person has denied the
    same call since), ValidationError.
    """
    if person.user_id is None or person.agent_id is not None or person.key_id is not None:
        raise ForbiddenError("Break-glass takes a person's token or session, not an API key.")
    if not 1 <= lifetime_seconds <= SECONDS_MAX:
        raise ValidationError(
            f"at most {SECONDS_MAX} seconds", details={"field": "expires_in_seconds", "max": SECONDS_MAX}
        )
    reason = _checked(reason, "reason")
    # Also the lock that makes the count of those that wait exact.
    await change.raise_generation()
    denied = await find_denied(change.connection, change.org_id, action_id)
    if denied.approval_id is not None:
        raise ConflictError(
            f"action {action_id} was sent to a reviewer (approval {denied.approval_id}). Break-glass does not"
            " override a person's decision. The agent may submit the action again after the approval has expired."
        )
    denial = await standing_denial(change.connection, change.org_id, denied.agent_id, denied.digest)
    if denial is not None:
        raise ConflictError(
            f"A reviewer denied this call (approval {denial.approval_id}). The denial holds until"
            f" {rfc3339(denial.expires_at)}. Break-glass does not override a person's decision.",
            details={"approval_id": denial.approval_id, "expires_at": rfc3339(denial.expires_at)},
        )
    if denied.status != "denied":
        raise ConflictError(
            f"action {action_id} is {denied.status}. Break-glass applies to denied actions only.",
            details={"status": denied.status},
        )
    if denied.canaries:
        raise ConflictError(
            f"action {action_id} holds the canary token {', '.join(map(repr, denied.canaries))}. Nothing exempts such"
            " a call. If the value may be sent, revoke the token; the agent may then submit the action again.",
            details={"canaries": list(denied.canaries)},
        )
    waiting = await waiting_glasses(change.connection, change.org_id)
    if any((one.agent_id, one.digest) == (denied.agent_id, denied.digest) for one in waiting):
        raise ConflictError("A break-glass exemption for this call is already in force.")
    if len(waiting) >= WAITING_MAX:
        raise ConflictError(f"{WAITING_MAX} unused break-glass exemptions exist already. Change the policy instead.")
    glass = BrokenGlass(
        org_id=change.org_id,
        pass_id=new_id(IdPrefix.BREAK_GLASS),
        action_id=denied.action_id,
        agent_id=denied.agent_id,
        tool=denied.tool,
        operation=denied.operation,
        digest=denied.digest,
        reason=reason,
        opened_by=person.user_id,
        opened_by_email=person.email,
        created_at=change.at,
        expires_at=change.at + timedelta(seconds=lifetime_seconds),
    )
    await insert_glass(change.connection, glass)
    data: JsonObject = {
        "pass_id": glass.pass_id,
        "denied_action_id": glass.action_id,
        "tool": glass.tool,
        "operation": glass.operation,
        "digest": "sha256:" + glass.digest.hex(),
        "reason": reason,
        "expires_at": rfc3339(glass.expires_at),
    }
    await change.record(EventType.BREAK_GLASS_OPENED, data, action_id=glass.action_id, agent_id=glass.agent_id)
    return glass


async def end_unused_glass(change: OrganizationChange, person: Voter, pass_id: str) -> BrokenGlass:
    """Ends an unused break-glass use for the person who opened it: the call is denied again at once. The review stays
    open. Raises NotFoundError, ForbiddenError, ConflictError."""
    glass = await find_glass(change.connection, change.org_id, pass_id, lock=True)
    if person.agent_id is not None or glass.opened_by not in person.named.users:
        raise ForbiddenError("Only the person who opened this break-glass use can end it. Others end it by a review.")
    if not await end_glass(change.connection, change.org_id, pass_id, change.at):
        raise ConflictError("This break-glass use is over.", details={"status": glass.status(change.at).value})
    await change.raise_generation()
    await change.record(
        EventType.BREAK_GLASS_ENDED, {"pass_id": pass_id}, action_id=glass.action_id, agent_id=glass.agent_id
    )
    return await find_glass(change.connection, change.org_id, pass_id)


async def review_glass(
    change: OrganizationChange, person: Voter, pass_id: str, *, outcome: ReviewOutcome, note: str | None
) -> BrokenGlass:
    """What somebody else makes of it. Raises NotFoundError, ForbiddenError, ConflictError, ValidationError."""
    glass = await find_glass(change.connection, change.org_id, pass_id, lock=True)
    if person.user_id is None or person.agent_id is not None:
        raise ForbiddenError("Only a person can review a break-glass use.")
    if glass.opened_by in person.named.users:
        raise ForbiddenError("A second person must review this break-glass use.")
    if glass.review is not None:
        raise ConflictError(f"{glass.review.by} has already reviewed it", details={"outcome": glass.review.outcome})
    if outcome is ReviewOutcome.NOT_JUSTIFIED and not (note or "").strip():
        raise ValidationError(
            "A reason is required when a break-glass use was not justified.", details={"field": "note"}
        )
    review = Review(person.user_id, person.email, change.at, outcome, None if note is None else _checked(note, "note"))
    await save_review(change.connection, change.org_id, pass_id, review)
    if glass.used_at is None:
        # A reviewed one lets nothing through any more.
        await change.raise_generation()
    data: JsonObject = {"pass_id": pass_id, "outcome": outcome.value, "opened_by": glass.opened_by}
    if review.note is not None:
        data["note"] = review.note
    await change.record(EventType.BREAK_GLASS_REVIEWED, data, action_id=glass.action_id, agent_id=glass.agent_id)
    return replace(glass, review=review)


def _checked(text: str, field: str) -> str:
    text = text.strip()
    if not text or len(text) > REASON_MAX_CHARACTERS or "\0" in text:
        raise ValidationError(
            f"{field} is required, with at most {REASON_MAX_CHARACTERS} characters", details={"field": field}
        )
    return text
