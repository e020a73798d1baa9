"""Derives the expected rows of an action from its events: the writers' rules, applied in the log's order.

Pure. A row maps columns to values as in the rows (``model``), JSON as read. A column that no event determines is absent
and not compared.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, field

from headgate.kernel.canonical_json import canonical_bytes, sha256_hex
from headgate.reconciliation.model import ActionEvent

type Row = dict[str, Any]

_UNDECIDED: Final = ("pending", "pending_approval")


class ReplayedRows(Struct):
    """``is_blind``: the payloads were erased, so the columns are unknown. ``missing``: the types of events that must
    exist. ``used_since``: the time at which the approval's use was claimed, by the claiming process's clock."""

    action: Row | None = None
    approval: Row | None = None
    votes: dict[str, Row] = field(default_factory=dict)
    executions: dict[str, Row] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    used_since: str | None = None
    also_updated: set[str] = field(default_factory=set)
    erased: str | None = None
    is_blind: bool = False

    def move(self, status: str, at: str) -> None:
        if self.action is not None:
            self.action |= {"status": status, "updated_at": at}


def replay(events: Iterable[ActionEvent]) -> ReplayedRows:
    """``events`` in the log's order."""
    replayed = ReplayedRows()
    seen: set[str] = set()
    for event in events:
        seen.add(event.event_type)
        if event.data is None:
            replayed.is_blind = True
        elif event.event_type == "body.erased":
            replayed.erased = "everything" if replayed.erased == "everything" else str(event.data.get("depth"))
        else:
            _RULES[event.event_type](replayed, event, event.data)
    replayed.missing = [one for one in ("action.submitted", "decision.made") if one not in seen][:1]
    return replayed


def _submitted(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    replayed.action = {
        "agent_id": event.agent_id,
        "key_id": data.get("key_id"),
        "source": data.get("source"),
        "tool": data.get("tool"),
        "operation": data.get("operation"),
        "digest": data.get("digest"),
        "request": data.get("request_digest"),
        "approval_id": None,
        "parent_action_id": data.get("parent_action_id"),
        "created_at": event.created_at,
        "updated_at": event.created_at,
    }


def _decided(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    """The first decision counts; a later one belongs to the use of the approval."""
    if replayed.action is not None and "decision" not in replayed.action:
        replayed.action["decision"] = {name: value for name, value in data.items() if name != "generation"}
        replayed.action["risk_level"] = data.get("risk_level")
        replayed.action["status"] = "denied" if data.get("decision") == "deny" else "allowed"


def _requested(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    action = replayed.action or {}
    decision = action.get("decision") or {}
    replayed.move("pending_approval", event.created_at)
    if replayed.action is not None:
        replayed.action["approval_id"] = data.get("approval_id")
    replayed.approval = {
        "approval_id": data.get("approval_id"),
        **{name: action.get(name) for name in ("agent_id", "source", "tool", "digest", "created_at")},
        **{name: decision.get(name) for name in ("reason", "risk_level", "policy_id")},
        "status": "pending",
        "requirements": data.get("requirements"),
        "required_approvals": data.get("required_approvals"),
        "current_approvals": 0,
        "repeats": data.get("repeats"),
        "expires_at": data.get("expires_at"),
        **dict.fromkeys(("decided_at", "decided_by", "comment", "used_by", "escalate_at", "escalated_at")),
        **dict.fromkeys(("edited_request", "edited_digest", "edited_decision", "edited_by", "edited_at")),
    }
    if "escalate_at" in data:
        replayed.approval["escalate_at"] = data["escalate_at"]


def _voted(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    actor = event.actor or {}
    voter, reason = str(actor.get("id")), data.get("reason", data.get("comment"))
    replayed.votes[voter] = {
        "decision": data.get("vote"),
        "reason": reason,
        "decided_at": event.created_at,
        "key_id": data.get("key_id"),
        "on_behalf_of": data.get("on_behalf_of"),
        "digest": data.get("digest"),
        **{name: data[name] for name in ("email", "as_admin", "standing") if name in data},
    }
    if replayed.approval is None:
        return
    replayed.approval["current_approvals"] = data.get("current_approvals")
    if event.event_type != "approval.voted":
        status = event.event_type.partition(".")[2]
        replayed.approval |= {"status": status, "decided_at": event.created_at, "decided_by": voter, "comment": reason}
        replayed.move(status, event.created_at)


def _ended_undecided(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    """If the action was cancelled later, its execution's event states it."""
    if replayed.approval is not None and replayed.approval["status"] in _UNDECIDED:
        replayed.approval["status"] = "expired"
        replayed.move("denied", event.created_at)


def _expired(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    """Undecided, or withdrawn by a restore before its use."""
    approval = replayed.approval
    if approval is not None and approval["status"] == "approved" and approval["used_by"] is None:
        approval["status"] = "expired"
        replayed.move("denied", event.created_at)
    _ended_undecided(replayed, event, data)


def _asked_others(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    if replayed.approval is None:
        return
    if "requirements" in data:
        replayed.approval["requirements"] = data["requirements"]
    if event.event_type == "approval.escalated":
        replayed.approval["escalated_at"] = event.created_at


def _edited(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    if replayed.approval is not None:
        replayed.approval |= {
            "edited_request": data.get("edited_request_digest"),
            "edited_digest": data.get("edited_digest"),
            "edited_decision": data.get("decision"),
            "edited_by": (event.actor or {}).get("id"),
            "edited_at": event.created_at,
        }


def _execution(replayed: ReplayedRows, data: Mapping[str, Any]) -> Row | None:
    """The execution of an event; without its identifier, the only one."""
    execution_id = data.get("execution_id") or next(reversed(replayed.executions), None)
    if execution_id is None:
        return None
    new = {"status": "queued", "attempts": 0, "started_at": None, "completed_at": None, "error": None, "result": None}
    return replayed.executions.setdefault(str(execution_id), new)


def _started(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    row = _execution(replayed, data)
    if row is None:
        return
    row |= {"status": "running", "attempts": row["attempts"] + 1, "started_at": event.created_at}
    row |= dict.fromkeys(("completed_at", "error", "result"))
    replayed.move("executing", event.created_at)
    if replayed.approval is not None and ("approval_id" in data or data.get("reported")):
        if replayed.approval["used_by"] != data.get("execution_id"):
            replayed.used_since = event.created_at
        replayed.approval["used_by"] = data.get("execution_id")


def _result(data: Mapping[str, Any]) -> Row:
    """``result_digest``: the digest of the stored result, where the event omits part of it."""
    if "result_digest" in data:
        return {"result": data["result_digest"]}
    return {"result": sha256_hex(canonical_bytes(data["result"])) if "result" in data else None}


def _ended(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    row = _execution(replayed, data)
    if row is None:
        return
    execution_id = str(data.get("execution_id") or next(reversed(replayed.executions)))
    succeeded = event.event_type == "execution.completed"
    is_back = "approval_given_back" in data
    if is_back and replayed.approval is not None and replayed.approval["used_by"] == execution_id:
        replayed.approval["used_by"], replayed.used_since = None, None
    end: Row = {"completed_at": event.created_at, "error": data.get("error"), **_result(data)}
    row |= {"status": "succeeded" if succeeded else "failed", **end}
    row["started_at"] = row["started_at"] or event.created_at
    if is_back and replayed.action is not None:
        # If several uses were released, the one applied last sets the time.
        replayed.also_updated.add(event.created_at)
    replayed.move("completed" if succeeded else "approved" if is_back else "failed", event.created_at)


def _rescheduled(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    row = _execution(replayed, data)
    if row is not None:
        row |= {"status": "queued", "error": data.get("error"), **_result(data)}


def _retried(replayed: ReplayedRows, event: ActionEvent, data: Mapping[str, Any]) -> None:
    row = _execution(replayed, data)
    if row is not None:
        attempts = 0 if data.get("reset_attempts") else row["attempts"]
        row |= {"status": "queued", "completed_at": None, "attempts": attempts}
        replayed.move("executing", event.created_at)


_RULES: Final[Mapping[str, Callable[[ReplayedRows, ActionEvent, Mapping[str, Any]], None]]] = MappingProxyType(
    {
        "action.submitted": _submitted,
        "decision.made": _decided,
        "action.cancelled": _ended_undecided,
        "approval.requested": _requested,
        "approval.voted": _voted,
        "approval.approved": _voted,
        "approval.denied": _voted,
        "approval.expired": _expired,
        "approval.superseded": _ended_undecided,
        "approval.reassigned": _asked_others,
        "approval.escalated": _asked_others,
        "approval.edited": _edited,
        "execution.started": _started,
        "execution.completed": _ended,
        "execution.failed": _ended,
        "execution.rescheduled": _rescheduled,
        "execution.retried": _retried,
    }
)
COMPARED_EVENTS: Final = (*_RULES, "body.erased")
"""The types of events that determine columns."""
