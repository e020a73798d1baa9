"""What proof packs hold, as rows that can be looked at in an instance of their own. Pure.

Only what verifies becomes a row. The chain of an import has gaps: packs hold the events of their actions, and each is
proved by itself. Two packs that tell different things about one event are a fork, and are refused.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from headgate.evidence.pack_verifier import InvalidError, Key, read_members, verify_pack
from headgate.kernel.canonical_json import canonical_bytes, sha256_bytes
from headgate.kernel.errors import ValidationError

_STUB: Final = '{"body":"erased","params":{}}'
_DECISION: Final = ("decision", "reason", "risk_level", "policy_id", "evaluation_time_ms")


class InspectedEvent(Struct, frozen=True):
    """A row of the chain, and of the month."""

    seq: int
    header: str
    hash: bytes
    event_id: str
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    sealed_at: datetime
    salt: bytes | None
    payload: str | None


class InspectedAction(Struct, frozen=True):
    """A row of the actions. ``request`` is a stub, and ``body_state`` erased, where the pack has none."""

    action_id: str
    agent_id: str
    source: str
    tool: str
    operation: str
    status: str
    digest: bytes
    request: str
    body_state: str
    decision: str
    risk_level: str
    created_at: datetime


class Inspection(Struct, frozen=True):
    """One organization's record, as far as its packs tell."""

    org_id: str
    actions: Sequence[InspectedAction]
    events: Sequence[InspectedEvent]


def read_inspection(packs: Iterable[tuple[str, bytes]], keys: Sequence[Key]) -> Inspection:
    """Packs by name, each verified with ``keys`` first. Raises InvalidError and RefusedError, the verifier's, and
    ValidationError where they are of several organizations, or contradict each other."""
    organizations: set[str] = set()
    actions: list[InspectedAction] = []
    events: dict[int, InspectedEvent] = {}
    for name, content in packs:
        report = verify_pack(content, keys)
        members = read_members(content)
        organizations.add(report["organization"])
        if len(organizations) > 1:
            raise ValidationError("these packs are of several organizations: import each one's into its own instance")
        for entry in json.loads(members["events.json"])["events"]:
            event = _event(entry)
            if events.setdefault(event.seq, event).header != event.header:
                raise ValidationError(f"{name}: event {event.seq} is another one in another pack: the log was forked")
            if event.payload is not None:
                events[event.seq] = event
        action = _action(members)
        if action is not None:
            actions.append(action)
    if not organizations:
        raise ValidationError("there is no pack in it")
    return Inspection(organizations.pop(), actions, [events[seq] for seq in sorted(events)])


def _event(entry: dict[str, Any]) -> InspectedEvent:
    header = json.loads(entry["header"])
    return InspectedEvent(
        seq=header["seq"],
        header=entry["header"],
        hash=sha256(entry["header"].encode()).digest(),
        event_id=header["id"],
        event_type=header["type"],
        action_id=header["action"],
        agent_id=header["agent"],
        created_at=datetime.fromisoformat(header["created_at"]),
        sealed_at=datetime.fromisoformat(header["sealed_at"]),
        salt=None if entry["salt"] is None else bytes.fromhex(entry["salt"]),
        payload=entry["payload"],
    )


def _action(members: dict[str, bytes]) -> InspectedAction | None:
    """None where all that the record said of it was erased: its events are left."""
    view, decision = json.loads(members["action.json"]), json.loads(members["decision.json"])
    if "tool" not in view or "decision" not in decision:
        return None
    request = members.get("request.json")
    try:
        return InspectedAction(
            action_id=view["id"],
            agent_id=view["agent_id"],
            source=view["source"],
            tool=view["tool"],
            operation=view["operation"],
            status=view["status"],
            digest=sha256_bytes(view["digest"]),
            request=_STUB if request is None else request.decode(),
            body_state="erased" if request is None else "clear",
            decision=canonical_bytes({name: decision[name] for name in _DECISION}).decode(),
            risk_level=decision["risk_level"],
            created_at=datetime.fromisoformat(view["created_at"]),
        )
    except (KeyError, ValueError, AttributeError) as error:
        raise InvalidError(f"action.json or decision.json lacks what an action has: {error}") from error
