"""Judges a queued call by current policies before it runs (semantics.md, "Retry, use, expiry").

What was approved is what runs: the kept call's digest must be the action's.
"""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from headgate.actions.digest import action_digest
from headgate.actions.rego_input import rego_input
from headgate.approvals.rows import requirements_from
from headgate.break_glass.model import BrokenGlass, ReviewOutcome
from headgate.connections.choose import ConnectionBook
from headgate.connections.placeholders import mentions_placeholder
from headgate.executions.kept_call import KeptCall
from headgate.executions.store import QueuedExecution
from headgate.gate.candidate import NO_SUBMISSION, BoundCandidate, Candidate, with_connection
from headgate.gate.exempt_call import exempted_decision
from headgate.gate.organization_state import OrganizationState
from headgate.grants.exemption_store import Exemption
from headgate.grants.model import Grant, why_not_answered
from headgate.kernel.errors import HeadgateError
from headgate.policies.model import Decision, Verdict, requirements_cover
from headgate.protocols.draft import Source
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex


class Permitted(Struct, frozen=True):
    """What an attempt needs, of one generation."""

    queued: QueuedExecution
    candidate: BoundCandidate
    state: OrganizationState
    decision: Decision


class Refusal(Struct, frozen=True):
    """Why it does not run. ``decision``: where it is one that an exemption may go around."""

    reason: str
    decision: Decision | None = None


def candidate_of(
    org_id: str, queued: QueuedExecution, kept: KeptCall, catalogue: CatalogueIndex, book: ConnectionBook
) -> BoundCandidate | Refusal:
    """The action as it was decided, with the connection that it was decided with."""
    try:
        read = interpret(kept.call, catalogue)
    except HeadgateError as error:
        return Refusal(f"its call is no longer accepted: {error.message}")
    draft = replace(read, source=Source.API, context=kept.context, delegation=kept.delegation)
    digest = action_digest(draft, org_id=org_id, agent_id=queued.agent_id)
    document = rego_input(draft, agent_id=queued.agent_id, agent_name=queued.agent_name)
    asks = mentions_placeholder(draft)
    try:
        candidate = with_connection(
            Candidate(queued.agent_id, draft, digest, document, b"", NO_SUBMISSION, asks), book, org_id
        )
    except HeadgateError as error:
        return Refusal(f"it gets no credential: {error.message}")
    if candidate.digest != queued.digest:
        return Refusal(
            "the call is not the one that was decided, or its catalogue or connection has changed since:"
            " submit it again"
        )
    return candidate


def permitted_still(decision: Decision, permission: Grant | BrokenGlass) -> Decision | Refusal:
    """A use that was counted stays one, whatever is left of its grant; what was taken back since, or does not answer
    the current policies, lets nothing run."""
    if isinstance(permission, BrokenGlass):
        if permission.review is not None and permission.review.outcome is ReviewOutcome.NOT_JUSTIFIED:
            return Refusal(
                f"{permission.pass_id}, which let it through, was found not justified: {permission.review.note}"
            )
        if decision.verdict is Verdict.DENY:
            return exempted_decision(decision, Exemption(permission.pass_id, Decimal(0)))
        return Refusal(f"the current policies ask for an approval, so submit it again: {decision.reason}")
    if decision.verdict is Verdict.DENY:
        return Refusal(f"denied by the current policies: {decision.reason}")
    if permission.revoked_at is not None:
        return Refusal(f"{permission.grant_id}, which let it through, was revoked: {permission.revoke_reason}")
    if (why := why_not_answered(permission, decision.requirements)) is not None:
        return Refusal(f"{permission.grant_id}, which let it through, does so no more: {why}")
    return exempted_decision(decision, Exemption(permission.grant_id, Decimal(0)))


def judged(decision: Decision, queued: QueuedExecution) -> Decision | Refusal:
    """The decision of now, where it lets the call run."""
    overridable = None if decision.is_final else decision
    if decision.verdict is Verdict.DENY:
        return Refusal(f"denied by the current policies: {decision.reason}", overridable)
    if decision.verdict is Verdict.REQUIRE_APPROVAL:
        held = () if queued.requirements is None else requirements_from(queued.requirements)
        if not requirements_cover(held, decision.requirements):
            reason = f"the current policies ask for another approval, so submit it again: {decision.reason}"
            return Refusal(reason, overridable)
    return decision
