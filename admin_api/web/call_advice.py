"""What the reader of a call's page can do about a call that did not go through."""

from collections.abc import Sequence

from admin_api.actions.found_canaries import FoundCanaryAnswer


def advice_of(
    status: str,
    policy_id: str | None,
    approval_status: str | None,
    *,
    policy_name: str | None = None,
    may_write_policies: bool = False,
    canaries: Sequence[FoundCanaryAnswer] = (),
) -> str | None:
    """``policy_id``: of the policy that decided. None: the call went through, or it still can."""
    if canaries:
        return _of_canaries(canaries)
    if status == "pending_approval":
        return "The call waits for an approval. Ask an approver. After approval, the agent sends it again."
    if approval_status == "denied":
        return "A reviewer denied the call. Read the reason or ask the reviewer. A retry opens a new request."
    if approval_status == "expired":
        return "No reviewer decided in time. A retry opens a new request."
    if status == "denied":
        if policy_id is not None:
            rule = f"The policy “{policy_name}”" if policy_name else "A policy"
            change = "change the policy" if may_write_policies else "ask an administrator to change the policy"
            return f"{rule} denies the call. Change the call, or {change}."
        ask = "" if may_write_policies else " Ask an administrator."
        return f"No policy allows the call, or a stop or the destination list refuses it.{ask}"
    if status == "failed":
        return "The call was allowed but failed in transit or at its destination. The error names the cause."
    return None


def _of_canaries(canaries: Sequence[FoundCanaryAnswer]) -> str:
    held = "; ".join(f"the canary token “{one.name}” in {one.place}" for one in canaries)
    find_out = "Find out how the agent read the value, and remove the value from the call"
    return f"The call holds {held}. Nothing exempts it: no policy, approval, grant or break-glass use. {find_out}."
