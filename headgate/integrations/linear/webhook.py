"""Parses Linear's webhook for a changed issue (https://linear.app/developers/webhooks).

``Linear-Signature`` is the MAC of the body, which holds ``webhookTimestamp``. Linear repeats a failed delivery after a
minute, an hour and six hours.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from headgate.integrations.model import Transition
from headgate.integrations.platform_api import text_at
from headgate.integrations.signatures import digest_of, require_fresh, require_mac
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

MAX_AGE: Final = timedelta(hours=8)


def transition_of(headers: Mapping[str, str], body: bytes, secret: Secret, now: datetime) -> Transition | None:
    """None: the event moves no issue, or no person caused it. Raises UnauthorizedError, ValidationError."""
    require_mac(secret, body, headers.get("linear-signature"), "Linear")
    payload = parse_strict(body)
    if not isinstance(payload, dict):
        raise ValidationError("not one of Linear's webhooks")
    timestamp = payload.get("webhookTimestamp")
    require_fresh(timestamp / 1000 if isinstance(timestamp, int) else None, now, MAX_AGE, "Linear")
    if (payload.get("type"), payload.get("action")) != ("Issue", "update"):
        return None
    if text_at(payload, "updatedFrom", "stateId") is None or text_at(payload, "actor", "type") not in (None, "user"):
        return None
    issue_id, status = text_at(payload, "data", "id"), text_at(payload, "data", "state", "name")
    account = text_at(payload, "actor", "id")
    if issue_id is None or status is None or account is None:
        return None
    name = text_at(payload, "actor", "name") or account
    return Transition(digest_of(body), issue_id, status, account, name)
