"""A viewer's queue: bounded in batches and in bytes, and handed over a batch at a time."""

import pytest

from admin_api.feeds import viewers
from admin_api.feeds.frames import Batch, Frame, batch_of
from admin_api.feeds.viewers import Viewer


def _batch(seq: int, size: int = 1) -> Batch:
    return batch_of([Frame(seq, None, b"x" * size)])


@pytest.mark.parametrize(
    ("sizes", "ended"),
    [((11,), None), ((6, 4), None), ((6, 5), "slow"), ((11, 1), "slow"), ((1,) * 16, "slow")],
    ids=["one of any size", "as many bytes as there may be", "more", "beside a large one", "too many batches"],
)
async def test_a_queue_is_bounded(monkeypatch, sizes, ended) -> None:
    monkeypatch.setattr(viewers, "QUEUED_BYTES_MAX", 10)
    viewer = Viewer(0, None)
    for seq, size in enumerate(sizes, start=1):
        viewer.put(_batch(seq, size))
    assert viewer.ended == ended


async def test_batches_come_one_at_a_time_and_make_room(monkeypatch) -> None:
    monkeypatch.setattr(viewers, "QUEUED_BYTES_MAX", 10)
    viewer = Viewer(0, None)
    for seq in range(1, 4):
        viewer.put(_batch(seq, 5 if seq < 3 else 10))
        if seq == 2:
            assert (await viewer.next(0), await viewer.next(0)) == (b"xxxxx", b"xxxxx")
    assert (viewer.ended, viewer.seq) == (None, 2)
    assert await viewer.next(0) == b"x" * 10
    assert await viewer.next(0) == b""
