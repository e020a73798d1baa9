"""Parses a business rule's request, sent when a record's deciding field changes (the rule:
docs/guides/integrations.md).

ServiceNow signs nothing by itself; the rule signs with ``CertificateEncryption.generateMac``
(https://www.servicenow.com/docs/bundle/xanadu-api-reference/page/app-store/dev_portal/API_reference/CertificateEncryption/concept/c_CertificateEncryptionAPI.html),
whose MACs are base64. The signed text is the time (seconds since the epoch), a dot and the body.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from headgate.integrations.model import Transition
from headgate.integrations.platform_api import text_at
from headgate.integrations.signatures import digest_of, require_fresh
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import UnauthorizedError, ValidationError
from headgate.kernel.secrets import Secret

MAX_AGE: Final = timedelta(minutes=15)
_VERSION: Final = "v1="


def transition_of(
    headers: Mapping[str, str], body: bytes, secret: Secret, now: datetime, decision_field: str
) -> Transition | None:
    """None: the change concerns another field. Raises UnauthorizedError, ValidationError."""
    timestamp = headers.get("x-headgate-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > 12:
        raise UnauthorizedError("the time of the signature is missing")
    signed = timestamp.encode() + b"." + body
    mac = hmac.new(secret.reveal().encode(), signed, hashlib.sha256).digest()
    given = headers.get("x-headgate-signature", "")
    if not hmac.compare_digest((_VERSION + base64.b64encode(mac).decode()).encode(), given.encode()):
        raise UnauthorizedError("the signature is missing or does not fit")
    require_fresh(int(timestamp), now, MAX_AGE, "the business rule")
    payload = parse_strict(body)
    if not isinstance(payload, dict):
        raise ValidationError("not what the business rule sends")
    if text_at(payload, "field") != decision_field:
        return None
    sys_id, value, account = (text_at(payload, name) for name in ("sys_id", "value", "user_sys_id"))
    if sys_id is None or value is None or account is None:
        raise ValidationError("sys_id, value and user_sys_id are needed")
    return Transition(
        receipt_id=digest_of(signed),
        external_id=sys_id,
        status=value,
        account=account,
        account_name=text_at(payload, "user_name") or account,
        comment=(text_at(payload, "comment") or "").strip() or None,
        hint=text_at(payload, "correlation_id"),
    )
