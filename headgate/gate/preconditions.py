"""Denials that precede every policy. No exemption, approval or policy overrides them."""

from ipaddress import ip_address

from headgate.gate.candidate import BoundCandidate
from headgate.gate.organization_state import OrganizationState
from headgate.organizations.addresses import kind_of
from headgate.organizations.destinations import DestinationRules
from headgate.organizations.stops import refusal, stopping
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft


def blocked_or_stopped(state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
    """For a call that Headgate makes: a closed destination or a stop."""
    return _blocked(candidate.draft, state.allowlist) or stopped(state, candidate)


def stopped(state: OrganizationState, candidate: BoundCandidate) -> Decision | None:
    """For a call of the proxy's, whose guard judges each address that it connects to: a stop only."""
    stop = stopping(state.stops, agent_id=candidate.agent_id, tool=candidate.draft.tool)
    return None if stop is None else _final(refusal(stop), RiskLevel.CRITICAL)


def unconditional(state: OrganizationState, candidate: BoundCandidate) -> None:
    """For a call that is not made: dry runs tell what policies say (semantics.md, "Combining and voting")."""


def _blocked(draft: ActionDraft, rules: DestinationRules) -> Decision | None:
    """Judges addresses that are written as such. A name is judged where it is connected to (``headgate.outgoing``), so
    that no second resolution comes between (DNS rebinding)."""
    if draft.call is None:
        return None
    try:
        address = ip_address(draft.call.host)
    except ValueError:
        return None
    if rules.permits(draft.call.host, address, draft.call.port):
        return None
    what = kind_of(address).value.replace("_", "-")
    reason = f"{draft.call.host} is a {what} address, which is reached only where the organization's allowlist names it"
    return _final(reason, RiskLevel.HIGH)


def _final(reason: str, risk_level: RiskLevel) -> Decision:
    return Decision(Verdict.DENY, reason, risk_level, None, 0.0, is_final=True)
