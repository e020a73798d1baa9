"""The guard's judgement of an explicit action's destination, before any policy is asked.

Only addresses that are written as such can be judged here; a name is judged where it is connected to
(``headgate.outgoing``), so that what is reached is what was judged.
"""

from ipaddress import ip_address

from headgate.organizations.addresses import kind_of
from headgate.organizations.destinations import DestinationRules
from headgate.policies.model import Decision, RiskLevel, Verdict
from headgate.protocols.draft import ActionDraft


def blocked_destination(draft: ActionDraft, rules: DestinationRules) -> Decision | None:
    """A denial where Headgate would make this call to an address that it may not reach; None: nothing to say."""
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
    return Decision(Verdict.DENY, reason, RiskLevel.HIGH, None, 0.0)
