"""When a stream asks again whether its viewer may still see it."""

import pytest

from admin_api import live_stream
from admin_api.feeds.frames import Frame, batch_of
from admin_api.feeds.viewers import Viewer


@pytest.fixture(autouse=True)
def _ask_always(monkeypatch) -> None:
    monkeypatch.setattr(live_stream, "_ASK_AGAIN_SECONDS", 0.0)


async def test_each_piece_of_a_batch_is_asked_for(monkeypatch) -> None:
    """A slow client is sent one batch for minutes."""
    monkeypatch.setattr(live_stream, "_PIECE_BYTES", 4)
    answers = iter([True, True, True, False])

    async def may_go_on() -> bool:
        return next(answers)

    viewer = Viewer(0, None)
    viewer.put(batch_of([Frame(1, None, b"0123456789")]))
    events = live_stream._events(None, "org", None, viewer, 0, may_go_on)
    assert [one async for one in events][1:] == [b"0123", b"4567"]
