"""Who decided, as receivers are told it."""

import json
from datetime import UTC, datetime

import pytest

from headgate.audit.model import Actor, ActorType
from headgate.relay.model import RecordedEvent
from headgate.webhooks.model import WebhookEvent
from headgate.webhooks.payload import payload_of

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(("name", "email"), [("ada@example.com", "ada@example.com"), ("Ada", None), (None, None)])
def test_a_name_is_no_address(name: str | None, email: str | None) -> None:
    event = RecordedEvent(
        event_id="evt_1",
        seq=1,
        event_type="approval.approved",
        action_id="act_1",
        agent_id="agt_1",
        created_at=AT,
        actor=Actor(ActorType.USER, "usr_1", name),
        data={"approval_id": "apr_1"},
    )
    told = json.loads(payload_of(WebhookEvent.APPROVAL_APPROVED, event, None))
    assert told["data"]["approved_by"] == {"id": "usr_1", "email": email}
