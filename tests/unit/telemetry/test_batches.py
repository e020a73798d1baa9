"""Nobody waits for a collector: the queue is bounded, and what is lost is counted."""

import threading
from collections.abc import Sequence

from headgate.telemetry.batches import BATCH_MAX, DROPPED, QUEUE_MAX, Batches


def _dropped(signal: str, cause: str) -> float:
    return float(DROPPED.labels(signal, cause)._value.get())


def test_what_is_put_is_handed_over_in_batches_at_the_end_at_the_latest() -> None:
    taken: list[list[int]] = []

    def export(batch: Sequence[int]) -> bool:
        taken.append(list(batch))
        return True

    batches = Batches[int]("test", export)
    for number in range(BATCH_MAX + 1):
        batches.put(number)
    batches.close(10)
    assert [one for batch in taken for one in batch] == list(range(BATCH_MAX + 1))
    assert max(map(len, taken)) <= BATCH_MAX


def test_a_collector_that_does_not_answer_costs_what_does_not_fit() -> None:
    answers = threading.Event()
    began = threading.Event()

    def export(_: Sequence[int]) -> bool:
        began.set()
        return answers.wait(60)

    batches = Batches[int]("slow", export)
    batches.put(0)
    assert began.wait(10)
    for number in range(QUEUE_MAX + 100):
        batches.put(number)
    assert _dropped("slow", "full") == 100
    answers.set()
    batches.close(10)
    assert _dropped("slow", "failed") == 0


def test_an_exporter_that_raises_or_fails_is_counted_and_ends_nothing() -> None:
    def export(batch: Sequence[int]) -> bool:
        if batch[0] == 0:
            raise ConnectionError("no collector")
        return False

    batches = Batches[int]("broken", export)
    batches.put(0)
    batches.close(10)
    again = Batches[int]("broken", export)
    again.put(1)
    again.close(10)
    assert _dropped("broken", "failed") == 2
