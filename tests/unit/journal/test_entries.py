"""Entries are read as they were written, and torn ones are told from whole ones."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import lz4_block

from headgate.actions.entry_lane import EntryLane, read_entries, total_decompressed_bytes
from headgate.actions.recorded_entry import (
    ENTRY_BYTES_MAX,
    INDEXED_TEXT_BYTES_MAX,
    ActionEntry,
    ActionRow,
    EventsEntry,
    OutcomeEntry,
    OutcomeRow,
    UnreadableEntryError,
    action_entry,
    events_entry,
    outcome_entry,
)
from headgate.actions.recording_store import events_of_action
from headgate.audit.written_events import WrittenEvent, WrittenEvents
from headgate.db.arrays import NULL, element, text_of
from tests.entry_codes import CODES

_ACTION = ActionRow(
    "org_1", 1, "act_1", "agt_1", None, "proxy", "mail", "send", "denied", bytes(32), b'{"params":{}}', b"{}", "low",
    None, datetime(2026, 11, 23, tzinfo=UTC), None, None, None, None, "{}", "{}", None,
)  # fmt: skip
_OUTCOME = OutcomeRow("org_1", "exe_1", "act_1", "agt_1", True, _ACTION.created_at, None, b"{}", "{}", None)


def _signed(*entries: bytes) -> bytes:
    return b"".join(EntryLane(CODES).sign([("org_1", entry) for entry in entries]))


def test_fields_are_those_of_the_rows() -> None:
    assert ActionEntry._fields == ActionRow._fields[2:]
    assert OutcomeEntry._fields == OutcomeRow._fields[1:]


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=100),
    st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=100),
)
def test_entries_come_back(tool: str, parent: str | None) -> None:
    row = _ACTION._replace(tool=tool, parent_action_id=parent)
    found = list(read_entries(_signed(action_entry(row), outcome_entry(_OUTCOME), action_entry(_ACTION))))
    assert [type(one.read()) for one in found] == [ActionEntry, OutcomeEntry, ActionEntry]
    first = found[0].read()
    assert isinstance(first, ActionEntry)
    assert (first.tool, first.request) == (element(tool), element(row.request))
    assert first.parent_action_id == (NULL if parent is None else element(parent))


def test_attested_events_come_back() -> None:
    written = WrittenEvents()
    row = _ACTION._replace(execution_id="exe_1", instance_id="ins_1", started="{}")
    for event in (*events_of_action(row), WrittenEvent("setting.changed", None, None, row.created_at, "{}")):
        written.add("org_1", [event])
    [(org_id, events)] = written.due()
    [found] = read_entries(_signed(events_entry(events)))
    assert (org_id, found.read()) == ("org_1", EventsEntry(events))
    assert [text_of(one.event_type) for one in events] == [
        "action.submitted", "decision.made", "execution.started", "setting.changed",
    ]  # fmt: skip
    assert events[0].action_id == element("act_1") and events[3].action_id == NULL
    assert len({one.digest for one in events}) == 4


@given(st.integers(1, len(_signed(action_entry(_ACTION))) - 1))
def test_a_torn_entry_ends_the_reading(cut: int) -> None:
    last = _signed(action_entry(_ACTION))[:cut]
    reading = read_entries(_signed(outcome_entry(_OUTCOME)) + last)
    assert isinstance(next(reading).read(), OutcomeEntry)
    with pytest.raises(UnreadableEntryError) as torn:
        next(reading)
    assert torn.value.rest == last


def test_how_large_entries_become_is_known_before_they_are_read() -> None:
    large = _ACTION._replace(request=b'{"params":"' + b"a" * 1_000_000 + b'"}')
    entries = _signed(action_entry(large), outcome_entry(_OUTCOME))
    assert len(entries) < 10_000
    assert total_decompressed_bytes(entries) == sum(len(b"".join(one.read() or ())) for one in read_entries(entries))  # type: ignore[arg-type]
    assert total_decompressed_bytes(entries[:-1]) < total_decompressed_bytes(entries), "one is torn"
    assert total_decompressed_bytes(b"torn") == 0


def test_an_entry_that_would_become_too_large_is_not_read() -> None:
    entry = action_entry(_ACTION)
    [huge] = read_entries(_signed(entry[:5] + (ENTRY_BYTES_MAX + 1).to_bytes(4, "big") + entry[9:]))
    with pytest.raises(UnreadableEntryError):
        huge.read()


@pytest.mark.parametrize("kind", [b"A", b"O", b"E"])
def test_an_entry_of_too_many_fields_is_not_read(kind: bytes) -> None:
    """A short block holds millions of empty fields, each of them an object in memory."""
    block = lz4_block(NULL * (1 << 20))
    assert len(block) < 20_000
    [entry] = read_entries(_signed(kind + len(block).to_bytes(4, "big") + block))
    with pytest.raises(UnreadableEntryError):
        entry.read()


@given(st.binary(max_size=400))
def test_any_bytes_are_entries_or_refused(data: bytes) -> None:
    try:
        for one in read_entries(data):
            one.read()
    except UnreadableEntryError as error:
        assert data.endswith(error.rest)


@pytest.mark.parametrize(
    "change",
    [
        {"tool": "a\0b"},
        {"decided": "\0"},
        {"tool": "x" * (INDEXED_TEXT_BYTES_MAX + 1)},
        {"operation": "ä" * (INDEXED_TEXT_BYTES_MAX // 2 + 1)},
        {"tool": "\ud800"},
        {"request": b'{"a":"\xed\xa0\x80"}'},
        {"decision": b"\0"},
    ],
)
def test_what_could_not_be_applied_is_refused_before_it_is_appended(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"NUL|bytes|surrogates|utf-8"):
        action_entry(_ACTION._replace(**change))
