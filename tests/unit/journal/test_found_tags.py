"""Which tags the events of a round give to actions."""

import json
from typing import Any

import pytest

from headgate.db.arrays import NULL, element
from headgate.journal.found_tags import tags_of
from headgate.journal.round import EventEntry

_EMAIL = {"nlp": [{"tags": ["email", "iban"]}, {"policy_id": "nlp_2"}]}


def _event(event_type: str, data: Any, action_id: bytes | None = None) -> EventEntry:
    payload = json.dumps({"actor": {}, "data": data}, separators=(",", ":"))
    about = element("act_1") if action_id is None else action_id
    return EventEntry(element(event_type), about, NULL, NULL, element(payload))


def test_decisions_and_outcomes_tag_their_action_once() -> None:
    ended = {"result": {"inspection": {"nlp": [{"tags": ["email"]}]}}}
    events = [
        _event("decision.made", _EMAIL),
        _event("execution.completed", ended),
        _event("execution.failed", ended, element("act_2")),
        _event("execution.rescheduled", ended, element("act_3")),
    ]

    assert tags_of(events) == [("act_1", "email"), ("act_1", "iban"), ("act_2", "email"), ("act_3", "email")]


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("action.submitted", _EMAIL),
        ("execution.completed", _EMAIL),
        ("execution.completed", {"result": {"inspection": {"nlp": 1}, "tags": ["email"]}}),
        ("execution.completed", {"result": {"content_type": '"tags":["email"]'}}),
        ("decision.made", {"nlp": [{"tags": ["E-mail", "", "a" * 65, "\0"]}]}),
        ("decision.made", {"nlp": [{"tags": [["email"]]}, None]}),
        ("decision.made", {"nlp": None, "tags": ["email"]}),
    ],
)
def test_nothing_else_tags_and_nothing_raises(event_type: str, data: Any) -> None:
    assert tags_of([_event(event_type, data)]) == []


def test_an_event_about_no_action_tags_nothing() -> None:
    assert tags_of([_event("decision.made", _EMAIL, NULL)]) == []


def test_bytes_that_are_no_json_tag_nothing() -> None:
    broken = EventEntry(element("decision.made"), element("act_1"), NULL, NULL, element('{"tags":["email"'))

    assert tags_of([broken]) == []
