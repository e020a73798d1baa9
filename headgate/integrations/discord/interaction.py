"""Parses and answers Discord's interactions, sent when a button is pressed.

https://docs.discord.com/developers/interactions/receiving-and-responding: Ed25519 over the timestamp and the body, a
PING that must be answered, three seconds. Discord checks that forged signatures are refused with 401.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import Struct

from headgate.approvals.model import REASON_MAX_CHARACTERS
from headgate.integrations.discord.api import APPROVE, DENY
from headgate.integrations.platform_api import list_at, text_at
from headgate.integrations.signatures import digest_of, require_fresh
from headgate.kernel.canonical_json import JsonObject, parse_strict
from headgate.kernel.errors import UnauthorizedError, ValidationError

MAX_AGE: Final = timedelta(minutes=5)
_PING, _COMPONENT, _MODAL = 1, 3, 5
_PONG, _SAY, _SHOW_MODAL = 1, 4, 9
_EPHEMERAL: Final = 64
_SAID_CHARACTERS: Final = 1900


class Press(StrEnum):
    """``SUBMIT_DENIAL`` carries the reason that a denial requires."""

    PING = "ping"
    APPROVE = "approve"
    DENY = "deny"
    SUBMIT_DENIAL = "submit_denial"
    OTHER = "other"


class Interaction(Struct, frozen=True):
    press: Press
    receipt_id: str
    account: str = ""
    approval_id: str = ""
    reason: str | None = None


def interaction_of(headers: Mapping[str, str], body: bytes, public_key: str, now: datetime) -> Interaction:
    """Raises UnauthorizedError, ValidationError."""
    timestamp, signature = headers.get("x-signature-timestamp", ""), headers.get("x-signature-ed25519", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 12:
        raise UnauthorizedError("Discord's signature is missing")
    signed = timestamp.encode() + body
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), signed)
    except (InvalidSignature, ValueError) as error:
        raise UnauthorizedError("Discord's signature does not fit") from error
    require_fresh(int(timestamp), now, MAX_AGE, "Discord")
    payload = parse_strict(body)
    if not isinstance(payload, dict):
        raise ValidationError("not one of Discord's interactions")
    return _read(payload, digest_of(signed))


def _read(payload: JsonObject, receipt_id: str) -> Interaction:
    kind = payload.get("type")
    if kind == _PING:
        return Interaction(Press.PING, receipt_id)
    account = text_at(payload, "member", "user", "id") or text_at(payload, "user", "id")
    name = text_at(payload, "data", "custom_id") or ""
    if account is None:
        raise ValidationError("an interaction without a user")
    if kind == _COMPONENT and name.startswith(APPROVE):
        return Interaction(Press.APPROVE, receipt_id, account, name.removeprefix(APPROVE))
    if kind == _COMPONENT and name.startswith(DENY):
        return Interaction(Press.DENY, receipt_id, account, name.removeprefix(DENY))
    if kind == _MODAL and name.startswith(DENY):
        reason = next(
            (
                text_at(field, "value")
                for row in list_at(payload, "data", "components")
                for field in list_at(row, "components")
                if text_at(field, "custom_id") == "reason"
            ),
            None,
        )
        return Interaction(Press.SUBMIT_DENIAL, receipt_id, account, name.removeprefix(DENY), reason)
    return Interaction(Press.OTHER, receipt_id, account)


def pong() -> JsonObject:
    return {"type": _PONG}


def said(text: str) -> JsonObject:
    """A message that only this person sees; it mentions no one."""
    data: JsonObject = {"content": text[:_SAID_CHARACTERS], "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}}
    return {"type": _SAY, "data": data}


def ask_for_reason(approval_id: str) -> JsonObject:
    field: JsonObject = {
        "type": 4,
        "custom_id": "reason",
        "style": 2,
        "label": "Reason (the agent sees it)",
        "required": True,
        "max_length": REASON_MAX_CHARACTERS,
    }
    data: JsonObject = {
        "custom_id": DENY + approval_id,
        "title": "Deny this action",
        "components": [{"type": 1, "components": [field]}],
    }
    return {"type": _SHOW_MODAL, "data": data}
