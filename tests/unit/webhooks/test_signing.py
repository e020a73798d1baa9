"""Signatures, verified by the library that Standard Webhooks publishes."""

from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from headgate.webhooks.signing import headers, new_secret

_BODY = b'{"event":"approval.created"}'


def test_the_published_library_accepts_what_we_sign() -> None:
    secret = new_secret()
    sent = dict(headers([secret], "dlv_1", datetime.now(UTC), _BODY))
    assert Webhook(secret.reveal()).verify(_BODY, sent) == {"event": "approval.created"}


def test_during_a_rotation_either_secret_verifies() -> None:
    new, old = new_secret(), new_secret()
    sent = dict(headers([new, old], "dlv_1", datetime.now(UTC), _BODY))
    for secret in (new, old):
        assert Webhook(secret.reveal()).verify(_BODY, sent)


@pytest.mark.parametrize(
    "changed", [{"webhook-id": "dlv_2"}, {"webhook-timestamp": "1"}, {"webhook-signature": "v1,AAAA"}, {"body": b"{}"}]
)
def test_a_change_of_anything_that_is_signed_is_noticed(changed: dict[str, object]) -> None:
    secret = new_secret()
    message = {"body": _BODY, **dict(headers([secret], "dlv_1", datetime.now(UTC), _BODY)), **changed}
    body = message.pop("body")
    with pytest.raises(WebhookVerificationError):
        Webhook(secret.reveal()).verify(body, message)


def test_an_old_message_is_refused_by_its_time() -> None:
    secret = new_secret()
    sent = dict(headers([secret], "dlv_1", datetime.now(UTC) - timedelta(minutes=10), _BODY))
    with pytest.raises(WebhookVerificationError):
        Webhook(secret.reveal()).verify(_BODY, sent)
