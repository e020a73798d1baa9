"""Frames that ask for nothing: so many at once, so many a second, and nothing is saved up."""

import pytest
from h2 import events

from proxy.frame_allowance import BURST, PER_SECOND, FrameAllowance, cost_of


def test_a_burst_comes_back_with_time() -> None:
    allowance = FrameAllowance(100.0)
    assert allowance.spend(BURST, 100.0)
    assert not allowance.spend(1, 100.0)
    assert allowance.spend(PER_SECOND - 1, 101.0)
    assert not allowance.spend(1, 101.0)


def test_silence_saves_nothing_up() -> None:
    allowance = FrameAllowance(0.0)
    assert allowance.spend(1, 3_600.0)
    assert allowance.spend(BURST - 1, 3_600.0)
    assert not allowance.spend(1, 3_600.0)


def test_what_comes_at_the_rate_goes_on_for_ever() -> None:
    allowance = FrameAllowance(0.0)
    assert all(allowance.spend(PER_SECOND, float(second)) for second in range(1, 1_000))


@pytest.mark.parametrize(
    ("event", "cost"),
    [
        (events.PingReceived(ping_data=bytes(8)), 1),
        (events.RemoteSettingsChanged(), 1),
        (events.StreamReset(stream_id=1, error_code=8, remote_reset=True), 10),
        (events.DataReceived(stream_id=1, data=b"", flow_controlled_length=0), 1),
        (events.DataReceived(stream_id=1, data=b"x", flow_controlled_length=1), 0),
        (
            events.DataReceived(
                stream_id=1, data=b"", flow_controlled_length=0, stream_ended=events.StreamEnded(stream_id=1)
            ),
            0,
        ),
        (events.WindowUpdated(stream_id=1, delta=1), 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, events.Event) else str(value),
)
def test_costs(event: events.Event, cost: int) -> None:
    assert cost_of(event) == cost
