"""Recorded events as OCSF 1.8.0 (https://schema.ocsf.io/1.8.0): which class, which activity, which attributes.

=====================================  =============================  =========================================
what happened                          class                          activity
=====================================  =============================  =========================================
an action, its decision, its approval  API Activity (6003)            Other, named as the event is
and its execution; a refused request
something was made, changed, read or   Entity Management (3004)       Create, Read, Update, Delete, Enable,
deleted: a policy, a key, a setting…                                  Disable, Suspend, Resume, or Other
a person was made, (de)activated       Account Change (3001)          Create, Enable, Disable
a person signed in or out, or failed   Authentication (3002)          Logon, Logoff
an export or a stream fails; the       Application Error (6008)       General
record was altered
=====================================  =============================  =========================================

The decision is told by the profile Security Control: ``action_id`` and ``disposition_id``. What OCSF has no attribute
for is in ``unmapped``, the event's own data whole. ``metadata.uid`` is the event's identifier, by which a receiver
drops what comes twice.
"""

import json
from typing import Final

from msgspec import Struct

from headgate.audit.model import ActorType, EventType
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.relay.model import RecordedEvent
from headgate.siem.altered import RECORD_ALTERED

VERSION: Final = "1.8.0"

_API, _ENTITY, _ACCOUNT, _AUTHENTICATION, _ERROR = 6003, 3004, 3001, 3002, 6008
_CLASS_NAMES: Final = {
    _API: "API Activity",
    _ENTITY: "Entity Management",
    _ACCOUNT: "Account Change",
    _AUTHENTICATION: "Authentication",
    _ERROR: "Application Error",
}
_CATEGORY_NAMES: Final = {3: "Identity & Access Management", 6: "Application Activity"}
_OTHER: Final = 99

_ABOUT_ACTIONS: Final = frozenset({"action", "decision", "approval", "execution", "response", "request"})
_ENTITY_ACTIVITIES: Final = {
    "created": (1, "Create"), "opened": (1, "Create"), "placed": (1, "Create"),
    "exported": (2, "Read"), "read": (2, "Read"), "replayed": (2, "Read"),
    "updated": (3, "Update"), "changed": (3, "Update"), "restored": (3, "Update"), "rotated": (3, "Update"),
    "deleted": (4, "Delete"), "revoked": (4, "Delete"), "lifted": (4, "Delete"), "retired": (4, "Delete"),
    "reactivated": (8, "Enable"), "deactivated": (9, "Disable"), "disabled": (9, "Disable"),
    "suspended": (12, "Suspend"), "resumed": (13, "Resume"),
}  # fmt: skip
_ACCOUNT_ACTIVITIES: Final = {"created": (1, "Create"), "reactivated": (2, "Enable"), "deactivated": (5, "Disable")}
_LOGOFF: Final = frozenset({"ended", "revoked", "logged_out"})
_SEVERITIES: Final = {
    "low": (1, "Informational"),
    "medium": (3, "Medium"),
    "high": (4, "High"),
    "critical": (5, "Critical"),
}
# Security Control: action_id and its caption, disposition_id and its caption.
_VERDICTS: Final = {"allow": (1, "Allowed", 1, "Allowed"), "deny": (2, "Denied", 2, "Blocked")}
_ENTITY_KEYS: Final = (
    "policy_id",
    "key_id",
    "agent_id",
    "grant_id",
    "endpoint_id",
    "user_id",
    "path",
    "name",
    "target",
)


class _Meaning(Struct, frozen=True):
    class_uid: int
    activity_id: int
    activity_name: str


_RECORD_BROKEN: Final = (RECORD_ALTERED, EventType.JOURNAL_ENTRY_MISSED.value)


def ocsf_event(event: RecordedEvent, org_id: str, product_version: str) -> JsonObject:
    """One event; times are milliseconds since 1970."""
    meaning = _meaning(event.event_type)
    severity_id, severity = _severity(event)
    milliseconds = int(event.created_at.timestamp() * 1000)
    told: JsonObject = {
        "activity_id": meaning.activity_id,
        "activity_name": meaning.activity_name,
        "category_uid": meaning.class_uid // 1000,
        "category_name": _CATEGORY_NAMES[meaning.class_uid // 1000],
        "class_uid": meaning.class_uid,
        "class_name": _CLASS_NAMES[meaning.class_uid],
        "type_uid": meaning.class_uid * 100 + meaning.activity_id,
        "severity_id": severity_id,
        "severity": severity,
        "time": milliseconds,
        "message": _message(event),
        "metadata": {
            "version": VERSION,
            "uid": event.event_id,
            "original_event_uid": event.event_id,
            "event_code": event.event_type,
            "sequence": event.seq,
            "tenant_uid": org_id,
            "product": {"name": "Headgate", "vendor_name": "Headgate", "version": product_version},
            "profiles": ["security_control"] if event.event_type == "decision.made" else [],
        },
        "actor": _actor(event),
        "unmapped": {
            "event_type": event.event_type,
            "action_id": event.action_id,
            "agent_id": event.agent_id,
            "data": event.data,
        },
    }
    told |= _status(event)
    return told | _of_class(event, meaning) | _security_control(event)


def severity_id_of(told: JsonObject) -> int:
    found = told["severity_id"]
    return found if isinstance(found, int) else 1


def json_line(told: JsonObject) -> str:
    """ASCII, on one line."""
    return json.dumps(told, separators=(",", ":"), ensure_ascii=True)


def _meaning(event_type: str) -> _Meaning:
    subject, _, verb = event_type.partition(".")
    if subject in _ABOUT_ACTIONS:
        return _Meaning(_API, _OTHER, event_type)
    if event_type in ("checkpoint.export_failed", "event_stream.failed", *_RECORD_BROKEN):
        return _Meaning(_ERROR, 1, "General Error")
    if subject in ("login", "session"):
        return _Meaning(_AUTHENTICATION, *((2, "Logoff") if verb in _LOGOFF else (1, "Logon")))
    if subject == "user" and verb in _ACCOUNT_ACTIVITIES:
        return _Meaning(_ACCOUNT, *_ACCOUNT_ACTIVITIES[verb])
    return _Meaning(_ENTITY, *_ENTITY_ACTIVITIES.get(verb, (_OTHER, event_type)))


def _severity(event: RecordedEvent) -> tuple[int, str]:
    if event.event_type in _RECORD_BROKEN:
        return _SEVERITIES["critical"]
    if event.event_type.endswith("failed") or event.event_type.startswith("break_glass."):
        return _SEVERITIES["high"]
    return _SEVERITIES.get(str(event.data.get("risk_level")), _SEVERITIES["low"])


def _message(event: RecordedEvent) -> str:
    reason = event.data.get("reason")
    return f"{event.event_type}: {reason}"[:1000] if isinstance(reason, str) and reason else event.event_type


def _status(event: RecordedEvent) -> JsonObject:
    failed = event.event_type.endswith("failed") or event.event_type in _RECORD_BROKEN
    return {"status_id": 2, "status": "Failure"} if failed else {"status_id": 1, "status": "Success"}


def _actor(event: RecordedEvent) -> JsonObject:
    actor = event.actor
    if actor is None:
        return {"app_name": "erased"}
    if actor.type is ActorType.USER:
        return {"user": _user(actor.id, actor.name)}
    if actor.type is ActorType.AGENT:
        return {"user": {"uid": actor.id, "type_id": 3, "type": "System", **_named(actor.name)}}
    return {"app_uid": actor.id, "app_name": actor.name or "Headgate"}


def _user(user_id: str, name: str | None) -> JsonObject:
    user: JsonObject = {"uid": user_id, "type_id": 1, "type": "User", **_named(name)}
    if name is not None and "@" in name:
        user["email_addr"] = name
    return user


def _named(name: str | None) -> JsonObject:
    return {} if name is None else {"name": name}


def _endpoint(event: RecordedEvent) -> JsonObject:
    """Where it came from: an address, else whoever it was (the object needs one of these)."""
    actor = event.actor
    if actor is not None and actor.address is not None:
        return {"ip": actor.address}
    return {"name": "unknown" if actor is None else actor.name or actor.id}


def _of_class(event: RecordedEvent, meaning: _Meaning) -> JsonObject:
    match meaning.class_uid:
        case 6003:
            tool, operation = event.data.get("tool"), event.data.get("operation")
            api: JsonObject = {"operation": operation if isinstance(operation, str) else event.event_type}
            if isinstance(tool, str):
                api["service"] = {"name": tool}
            if event.action_id is not None:
                api["request"] = {"uid": event.action_id}
            return {"api": api, "src_endpoint": _endpoint(event)}
        case 3004:
            return {"entity": _entity(event), **_from(event)}
        case 3001 | 3002:
            return {"user": _about_user(event), **_from(event)}
        case _:
            return {}


def _from(event: RecordedEvent) -> JsonObject:
    return {} if event.actor is None or event.actor.address is None else {"src_endpoint": _endpoint(event)}


def _entity(event: RecordedEvent) -> JsonObject:
    uid: JsonValue = next((event.data[name] for name in _ENTITY_KEYS if isinstance(event.data.get(name), str)), None)
    entity: JsonObject = {"type": event.event_type.partition(".")[0], "uid": uid or event.agent_id or event.event_id}
    name = event.data.get("name")
    return entity | ({"name": name} if isinstance(name, str) else {})


def _about_user(event: RecordedEvent) -> JsonObject:
    user_id, email = event.data.get("user_id"), event.data.get("email")
    if isinstance(user_id, str):
        return _user(user_id, email if isinstance(email, str) else None)
    actor = event.actor
    return {"name": "unknown"} if actor is None else _user(actor.id, actor.name)


def _security_control(event: RecordedEvent) -> JsonObject:
    if event.event_type != "decision.made":
        return {}
    verdict = _VERDICTS.get(str(event.data.get("decision")))
    if verdict is None:
        # Held for a person: neither allowed nor denied yet.
        return {"action_id": 0, "action": "Unknown", "disposition_id": _OTHER, "disposition": "Held for approval"}
    action_id, action, disposition_id, disposition = verdict
    return {"action_id": action_id, "action": action, "disposition_id": disposition_id, "disposition": disposition}
