"""What counts as the time of a decision."""

import gc
from collections.abc import Iterator
from threading import Thread
from time import thread_time

import pytest

from headgate.kernel.stopwatch import Stopwatch


def _work(seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        pass


@pytest.fixture
def many_objects() -> Iterator[None]:
    kept: list[list[object]] = [[] for _ in range(400_000)]
    yield
    kept.clear()


@pytest.mark.usefixtures("many_objects")
def test_a_full_collection_of_garbage_is_nobodys_time() -> None:
    watch, began = Stopwatch(), thread_time()
    gc.collect()
    collected = (thread_time() - began) * 1000
    assert watch.wall_milliseconds() >= collected * 0.9
    assert watch.processor_milliseconds() < collected / 2


@pytest.mark.usefixtures("many_objects")
def test_a_collection_does_not_hide_the_work_around_it() -> None:
    watch = Stopwatch()
    _work(0.02)
    gc.collect()
    _work(0.02)
    assert watch.processor_milliseconds() >= 40


@pytest.mark.usefixtures("many_objects")
def test_a_collection_in_another_thread_is_not_taken_off_this_ones_work() -> None:
    watch = Stopwatch()
    _work(0.02)
    other = Thread(target=gc.collect)
    other.start()
    other.join()
    assert watch.processor_milliseconds() >= 20
