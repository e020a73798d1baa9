"""What the rows of an action must say, from its events alone: the writers' rules, run again in the record's order.

Pure. A row is a table of column and value; the values are those of the rows (``model``), JSON as it is read. What an
event does not say is not there, and not compared.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from headgate.kernel.canonical_json import canonical_bytes, sha256_hex
from headgate.reconciliation.model import ToldEvent

type Row = dict[str, Any]

_UNDECIDED: Final = ("pending", "pending_approval")


@dataclass(slots=True)
class Told:
    """``is_blind``: the payloads were erased, so that the columns are not known. ``missing``: the types of events that
    must be there. ``used_since``: when the use of the approval was claimed, by the clock of the process that claimed
    it."""

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


def replay(events: Iterable[ToldEvent]) -> Told:
    """``events`` in the record's order."""
    told = Told()
    seen: set[str] = set()
    for event in events:
        seen.add(event.event_type)
        if event.data is None:
            told.is_blind = True
        elif event.event_type == "body.erased":
            told.erased = "everything" if told.erased == "everything" else str(event.data.get("depth"))
        else:
            _RULES[event.event_type](told, event, event.data)
    told.missing = [one for one in ("action.submitted", "decision.made") if one not in seen][:1]
    return told


def _submitted(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    told.action = {
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


def _decided(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    """The first counts; a later one is of the moment of use."""
    if told.action is not None and "decision" not in told.action:
        told.action["decision"] = {name: value for name, value in data.items() if name != "generation"}
        told.action["risk_level"] = data.get("risk_level")
        told.action["status"] = "denied" if data.get("decision") == "deny" else "allowed"


def _requested(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    action = told.action or {}
    decision = action.get("decision") or {}
    told.move("pending_approval", event.created_at)
    if told.action is not None:
        told.action["approval_id"] = data.get("approval_id")
    told.approval = {
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
        told.approval["escalate_at"] = data["escalate_at"]


def _voted(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    actor = event.actor or {}
    voter, reason = str(actor.get("id")), data.get("reason", data.get("comment"))
    told.votes[voter] = {
        "decision": data.get("vote"),
        "reason": reason,
        "decided_at": event.created_at,
        "key_id": data.get("key_id"),
        "on_behalf_of": data.get("on_behalf_of"),
        "digest": data.get("digest"),
        **{name: data[name] for name in ("email", "as_admin", "standing") if name in data},
    }
    if told.approval is None:
        return
    told.approval["current_approvals"] = data.get("current_approvals")
    if event.event_type != "approval.voted":
        status = event.event_type.partition(".")[2]
        told.approval |= {"status": status, "decided_at": event.created_at, "decided_by": voter, "comment": reason}
        told.move(status, event.created_at)


def _ended_undecided(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    """Of an action that was cancelled later than that, its execution's event tells."""
    if told.approval is not None and told.approval["status"] in _UNDECIDED:
        told.approval["status"] = "expired"
        told.move("denied", event.created_at)


def _asked_others(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    if told.approval is None:
        return
    if "requirements" in data:
        told.approval["requirements"] = data["requirements"]
    if event.event_type == "approval.escalated":
        told.approval["escalated_at"] = event.created_at


def _edited(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    if told.approval is not None:
        told.approval |= {
            "edited_request": data.get("edited_request_digest"),
            "edited_digest": data.get("edited_digest"),
            "edited_decision": data.get("decision"),
            "edited_by": (event.actor or {}).get("id"),
            "edited_at": event.created_at,
        }


def _execution(told: Told, data: Mapping[str, Any]) -> Row | None:
    """The one that an event is of; without its identifier, the only one."""
    execution_id = data.get("execution_id") or next(reversed(told.executions), None)
    if execution_id is None:
        return None
    new = {"status": "queued", "attempts": 0, "started_at": None, "completed_at": None, "error": None, "result": None}
    return told.executions.setdefault(str(execution_id), new)


def _started(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    row = _execution(told, data)
    if row is None:
        return
    row |= {"status": "running", "attempts": row["attempts"] + 1, "started_at": event.created_at}
    row |= dict.fromkeys(("completed_at", "error", "result"))
    told.move("executing", event.created_at)
    if told.approval is not None and ("approval_id" in data or data.get("reported")):
        if told.approval["used_by"] != data.get("execution_id"):
            told.used_since = event.created_at
        told.approval["used_by"] = data.get("execution_id")


def _result(data: Mapping[str, Any]) -> Row:
    """``result_digest``: of what is kept, where the event does not say all of it."""
    if "result_digest" in data:
        return {"result": data["result_digest"]}
    return {"result": sha256_hex(canonical_bytes(data["result"])) if "result" in data else None}


def _ended(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    row = _execution(told, data)
    if row is None:
        return
    execution_id = str(data.get("execution_id") or next(reversed(told.executions)))
    succeeded = event.event_type == "execution.completed"
    is_back = "approval_given_back" in data
    if is_back and told.approval is not None and told.approval["used_by"] == execution_id:
        told.approval["used_by"], told.used_since = None, None
    end: Row = {"completed_at": event.created_at, "error": data.get("error"), **_result(data)}
    row |= {"status": "succeeded" if succeeded else "failed", **end}
    row["started_at"] = row["started_at"] or event.created_at
    if is_back and told.action is not None:
        # Of several that were given back the one that is applied last writes its time.
        told.also_updated.add(event.created_at)
    told.move("completed" if succeeded else "approved" if is_back else "failed", event.created_at)


def _rescheduled(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    row = _execution(told, data)
    if row is not None:
        row |= {"status": "queued", "error": data.get("error"), **_result(data)}


def _retried(told: Told, event: ToldEvent, data: Mapping[str, Any]) -> None:
    row = _execution(told, data)
    if row is not None:
        attempts = 0 if data.get("reset_attempts") else row["attempts"]
        row |= {"status": "queued", "completed_at": None, "attempts": attempts}
        told.move("executing", event.created_at)


_RULES: Final[Mapping[str, Callable[[Told, ToldEvent, Mapping[str, Any]], None]]] = MappingProxyType(
    {
        "action.submitted": _submitted,
        "decision.made": _decided,
        "action.cancelled": _ended_undecided,
        "approval.requested": _requested,
        "approval.voted": _voted,
        "approval.approved": _voted,
        "approval.denied": _voted,
        "approval.expired": _ended_undecided,
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
TOLD: Final = (*_RULES, "body.erased")
"""The types of events that columns follow from."""
