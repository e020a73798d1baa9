"""An agent's exchanges one after another."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from headgate.traffic.mask_exchange import mask_exchange
from headgate.traffic.model import Kept
from headgate.traffic.sealed_exchange import seal_exchange
from headgate.traffic.store import LossCount
from headgate.traffic.timeline import timeline_of
from tests.unit.traffic.samples import sample, vault_in

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def kept(tmp_path, seconds: float, duration_ms: float | None) -> Kept:
    captured = sample(created_at=START + timedelta(seconds=seconds))
    return replace(seal_exchange(captured, mask_exchange(captured), vault_in(tmp_path)), duration_ms=duration_ms)


def loss(seconds: float) -> LossCount:
    at = START + timedelta(seconds=seconds)
    return LossCount("spool_full", 3, at, at)


def test_pauses_are_from_the_last_end_to_the_next_beginning(tmp_path) -> None:
    first, long, within, last = (
        kept(tmp_path, 0, 500),
        kept(tmp_path, 1, 5000),
        kept(tmp_path, 2, 100),
        kept(tmp_path, 8, None),
    )
    steps = timeline_of([last, within, long, first], [])
    assert [step.exchange for step in steps] == [first, long, within, last]
    assert [step.pause_seconds for step in steps] == [None, 0.5, 0.0, 2.0]


def test_what_is_missing_stands_where_it_is_missing(tmp_path) -> None:
    first, second = kept(tmp_path, 0, 1), kept(tmp_path, 10, 1)
    steps = timeline_of([second, first], [loss(5), loss(-5), loss(20)])
    assert [step.loss is not None for step in steps] == [False, True, False, True]
    assert timeline_of([], [loss(1)]) == []
