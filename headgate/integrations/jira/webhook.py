"""Parses Jira's webhook for a changed ticket (https://developer.atlassian.com/cloud/jira/platform/webhooks/).

The signature follows "Secure admin webhooks": ``X-Hub-Signature: sha256=…`` (WebSub, method=signature). Jira repeats a
failed delivery up to five times, with the event's own ``timestamp``, over at most 75 minutes.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from headgate.integrations.model import Transition
from headgate.integrations.platform_api import list_at, text_at
from headgate.integrations.signatures import digest_of, require_fresh, require_mac
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

MAX_AGE: Final = timedelta(hours=2)
_PREFIX: Final = "headgate-apr_"


def transition_of(headers: Mapping[str, str], body: bytes, secret: Secret, now: datetime) -> Transition | None:
    """None: the event moves no ticket. Raises UnauthorizedError, ValidationError."""
    given = headers.get("x-hub-signature", "")
    require_mac(secret, body, given.removeprefix("sha256=") if given.startswith("sha256=") else None, "Jira")
    payload = parse_strict(body)
    if not isinstance(payload, dict):
        raise ValidationError("not one of Jira's webhooks")
    timestamp = payload.get("timestamp")
    require_fresh(timestamp / 1000 if isinstance(timestamp, int) else None, now, MAX_AGE, "Jira")
    if payload.get("webhookEvent") != "jira:issue_updated":
        return None
    status = next(
        (
            text_at(one, "toString")
            for one in list_at(payload, "changelog", "items")
            if text_at(one, "field") == "status"
        ),
        None,
    )
    issue_id, account = text_at(payload, "issue", "id"), text_at(payload, "user", "accountId")
    if status is None or issue_id is None or account is None:
        return None
    return Transition(
        receipt_id=digest_of(body),
        external_id=issue_id,
        status=status,
        account=account,
        account_name=text_at(payload, "user", "displayName") or account,
        comment=_comment(payload.get("comment")),
        hint=next(
            (
                one.removeprefix("headgate-")
                for one in list_at(payload, "issue", "fields", "labels")
                if isinstance(one, str) and one.startswith(_PREFIX)
            ),
            None,
        ),
    )


def _comment(comment: JsonValue) -> str | None:
    """The comment of the transition; webhooks still send it as text, not as a document."""
    body = text_at(comment, "body")
    return body.strip() or None if body is not None else None
