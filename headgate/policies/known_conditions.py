"""The index conditions of a stored policy."""

from headgate.kernel.errors import ValidationError
from headgate.policies.compile import Libraries, compile_policy
from headgate.policies.conditions import UNKNOWN_CONDITIONS, Conditions
from headgate.policies.model import RulePolicy


def known_conditions(policy: RulePolicy, data: bytes, libraries: Libraries) -> Conditions:
    """``UNKNOWN_CONDITIONS`` for a policy that is not evaluated: it denies in place of any verdict."""
    if policy.quarantine is not None:
        return UNKNOWN_CONDITIONS
    try:
        return compile_policy(policy.rego_policy, data, libraries).conditions
    except ValidationError:
        return UNKNOWN_CONDITIONS
