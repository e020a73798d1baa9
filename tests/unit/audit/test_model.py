"""The payload's exact bytes, and the grammar of event types."""

import re
from datetime import UTC, datetime

import pytest

from headgate.audit.model import SYSTEM, Actor, ActorType, Event, EventType, payload_text
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import ValidationError


@pytest.mark.parametrize(
    ("actor", "data", "text"),
    [
        (SYSTEM, {}, '{"actor":{"id":"headgate","type":"system"},"data":{}}'),
        (
            Actor(ActorType.USER, "usr_1", 'A "quoted" Ünïcode'),
            {"b": 1, "a": [None, True, "x"]},
            '{"actor":{"id":"usr_1","name":"A \\"quoted\\" Ünïcode","type":"user"},"data":{"a":[null,true,"x"],"b":1}}',
        ),
    ],
)
def test_the_payload_is_canonical_json(actor: Actor, data: JsonObject, text: str) -> None:
    assert payload_text(actor, data) == text
    assert Event(EventType.KEY_REVOKED, datetime.now(UTC), actor, data).payload() == text
    members: JsonObject = {"id": actor.id, "type": actor.type.value}
    if actor.name is not None:
        members["name"] = actor.name
    assert canonical_bytes({"actor": members, "data": data}).decode() == text


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValidationError):
        payload_text(SYSTEM, {"x": float("nan")})


@pytest.mark.parametrize("event_type", EventType)
def test_every_event_type_is_subject_dot_verb(event_type: EventType) -> None:
    # The same expression guards the column in schema/07_audit.sql.
    assert re.fullmatch(r"[a-z_]+[.][a-z_]+", event_type.value)


def test_the_specifications_eight_are_there() -> None:
    assert {
        "action.submitted", "decision.made", "approval.requested", "approval.approved", "approval.denied",
        "execution.started", "execution.completed", "execution.failed",
    } <= {event_type.value for event_type in EventType}  # fmt: skip
