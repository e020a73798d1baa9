"""A writer's entries are counted: what is missing, changed, renumbered, repeated or another's is seen."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.actions.entry_lane import (
    Attestation,
    EntryLane,
    SignedEntry,
    Written,
    read_entries,
    signed_attestation,
)
from headgate.actions.recorded_entry import ATTESTATION, action_entry
from headgate.journal.completeness import Missed, ReplayedEntryError, WriterCount, count
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.vault.master_keys import MasterKeys
from tests.entry_codes import CODES
from tests.unit.journal.test_entries import _ACTION

_ENTRY = action_entry(_ACTION)


def _batch(lane: EntryLane, size: int, kept: Callable[[int], bool] = lambda number: True) -> list[SignedEntry]:
    """What of a batch reaches the journal."""
    signed = lane.sign([("org_1", _ENTRY)] * size)
    lane.committed([kept(number) for number in range(size)])
    return [entry for number, one in enumerate(signed) if kept(number) for entry in read_entries(one)]


def _missed(entries: list[SignedEntry]) -> list[Missed]:
    counts: dict[bytes, WriterCount] = {}
    return [missed for one in entries if (missed := count(counts, one)) is not None]


def _attestations(lane: EntryLane) -> list[SignedEntry]:
    told = lane.unattested()
    for one in told:
        lane.attested(one)
    return [entry for one in told for entry in read_entries(signed_attestation(CODES.signer(), one))]


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=8), st.data())
def test_exactly_what_was_deleted_is_missed(batches: list[list[bool]], data: st.DataObject) -> None:
    """``batches``: which entries of each the database took."""
    lane, entries = EntryLane(CODES), []
    for kept in batches:
        entries += _batch(lane, len(kept), kept.__getitem__)
        if data.draw(st.booleans(), "attests now"):
            entries += _attestations(lane)
    entries += _attestations(lane)
    assert _missed(entries) == []
    written = [one for one in entries if not one.is_attestation]
    gone = data.draw(st.sets(st.sampled_from(range(len(written)))) if written else st.just(set()), "deleted")
    left = [one for one in entries if one.is_attestation or written.index(one) not in gone]
    assert sum(one.written - one.applied for one in _missed(left)) == len(gone)


def test_a_batch_without_an_answer_changes_the_name_and_loses_nothing() -> None:
    lane = EntryLane(CODES)
    first = _batch(lane, 2)
    unknown = [entry for one in lane.sign([("org_1", _ENTRY)]) for entry in read_entries(one)]
    later = _batch(lane, 1)
    assert later[0].writer != first[0].writer == unknown[0].writer
    told = _attestations(lane)
    assert {(one.writer, one.before.number) for one in told} == {(first[0].writer, 2), (later[0].writer, 1)}
    assert _missed([*first, *later, *told]) == [] == _missed([*first, *unknown, *later, *told])
    assert [(one.written, one.applied) for one in _missed([first[0], *later, *told])] == [(2, 1)]
    assert lane.unattested() == []


def test_an_answer_of_another_length_is_none() -> None:
    lane = EntryLane(CODES)
    first = _batch(lane, 1)
    lane.sign([("org_1", _ENTRY)] * 2)
    with pytest.raises(ValueError, match="zip"):
        lane.committed([True])
    assert _batch(lane, 1)[0].writer != first[0].writer
    assert [one.durable.number for one in lane.unattested()] == [1, 1]


def test_a_day_later_the_lane_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = EntryLane(CODES)
    first = _batch(lane, 1)
    monkeypatch.setattr("headgate.actions.entry_lane._NAME_SECONDS", -1.0)
    second = _batch(lane, 1)
    assert first[0].writer != second[0].writer
    assert len(_attestations(lane)) == 2


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=6), st.data())
def test_a_refused_entry_does_not_stand_for_a_durable_one(batches: list[list[bool]], data: st.DataObject) -> None:
    """The database has seen it with its code, so its owner can append it, in its place."""
    lane, shown = EntryLane(CODES), list[tuple[SignedEntry, bool]]()
    for kept in batches:
        actions = [_ACTION._replace(action_id=f"act_{len(shown) + number}") for number in range(len(kept))]
        signed = lane.sign([("org_1", action_entry(one)) for one in actions])
        lane.committed(kept)
        shown += [(one, is_kept) for raw, is_kept in zip(signed, kept, strict=True) for one in read_entries(raw)]
    taken = data.draw(st.lists(st.booleans(), min_size=len(shown), max_size=len(shown)), "in the journal")
    entries = [one for (one, _), is_in in zip(shown, taken, strict=True) if is_in]
    counts, missed = dict[bytes, WriterCount](), list[Missed | None]()
    for one in [*entries, *_attestations(lane)]:
        try:
            missed.append(count(counts, one))
        except ReplayedEntryError:
            continue
    is_hidden = any(is_kept and not is_in for (_, is_kept), is_in in zip(shown, taken, strict=True))
    assert any(missed) or not is_hidden


def test_a_name_that_is_over_a_day_old_is_not_attested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = EntryLane(CODES)
    _batch(lane, 1)
    assert lane.standing()
    monkeypatch.setattr("headgate.actions.entry_lane._NAME_SECONDS", -1.0)
    assert (lane.standing(), len(lane.unattested())) == ([], 1)


def test_organizations_are_counted_by_themselves() -> None:
    lane = EntryLane(CODES)
    lane.sign([("org_1", _ENTRY), ("org_2", _ENTRY), ("org_1", _ENTRY)])
    lane.committed([True, True, False])
    assert {(one.org_id, one.durable.number) for one in lane.unattested()} == {("org_1", 1), ("org_2", 1)}


def test_an_entry_is_applied_once() -> None:
    """Else one that is written again would stand for one that was deleted."""
    lane, counts = EntryLane(CODES), dict[bytes, WriterCount]()
    first, second = _batch(lane, 1), _batch(lane, 2)
    for one in [*first, *second]:
        count(counts, one)
    for again in [*first, *second]:
        with pytest.raises(ReplayedEntryError):
            count(counts, again)


@given(st.integers(0, len(_ENTRY) + 63), st.integers(1, 255))
def test_no_bit_can_be_changed(at: int, by: int) -> None:
    (signed,) = EntryLane(CODES).sign([("org_1", _ENTRY)])
    changed = bytearray(signed)
    changed[at] ^= by
    try:
        found = list(read_entries(bytes(changed)))
    except ValueError:
        return  # torn
    assert not all(one.is_authentic(CODES.checker(), "org_1") for one in found)


def test_it_is_authentic_for_its_organization_and_under_its_keys() -> None:
    [entry] = read_entries(EntryLane(CODES).sign([("org_1", _ENTRY)])[0])
    assert entry.is_authentic(CODES.checker(), "org_1")
    assert not entry.is_authentic(CODES.checker(), "org_2")
    others = EntryCodes(lambda: MasterKeys("k1", {"k1": bytes(32)}))
    assert not entry.is_authentic(others.checker(), "org_1")


def test_after_a_rotation_what_was_written_before_it_is_authentic() -> None:
    keys = MasterKeys("k1", {"k1": bytes(32)})
    codes = EntryCodes(lambda: keys)
    [before] = read_entries(EntryLane(codes).sign([("org_1", _ENTRY)])[0])
    keys = MasterKeys("k2", {"k1": bytes(32), "k2": bytes([1]) * 32})
    [after] = read_entries(EntryLane(codes).sign([("org_1", _ENTRY)])[0])
    assert before.mark != after.mark
    assert before.is_authentic(codes.checker(), "org_1") and after.is_authentic(codes.checker(), "org_1")


def test_a_file_of_keys_that_is_lost_stops_nothing_that_runs() -> None:
    read = iter([MasterKeys("k1", {"k1": bytes(32)})])

    def keys() -> MasterKeys:
        try:
            return next(read)
        except StopIteration:
            raise UnavailableError("the file is gone") from None

    codes = EntryCodes(keys)
    assert codes.signer().mark == codes.signer().mark
    with pytest.raises(UnavailableError):
        EntryCodes(keys).signer()


def test_an_attestation_is_no_entry() -> None:
    [told] = read_entries(signed_attestation(CODES.signer(), Attestation("org_1", bytes(16), Written(7))))
    assert (told.read(), told.before, told.raw.endswith(ATTESTATION)) == (None, Written(7), True)
    assert told.is_authentic(CODES.checker(), "org_1")
