"""What the reader of a call's page can do about a call that did not go through."""


def advice_of(
    status: str,
    policy_id: str | None,
    approval_status: str | None,
    *,
    policy_name: str | None = None,
    may_write_policies: bool = False,
) -> str | None:
    """``policy_id``: of the policy that decided. None: the call went through, or it still can."""
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
