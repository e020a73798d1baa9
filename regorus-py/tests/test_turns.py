"""A thread that reads or writes many values lets others have the interpreter."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from regorus import canonical_json, parse_json

_TEXT = b"[0" + b",[]" * 400_000 + b"]"
_VALUE = parse_json(_TEXT)


@pytest.mark.parametrize("work", [lambda: parse_json(_TEXT), lambda: canonical_json(_VALUE)], ids=["read", "write"])
def test_another_thread_goes_on_meanwhile(work: Callable[[], Any]) -> None:
    began, is_over = threading.Event(), threading.Event()

    def long_work() -> None:
        began.set()
        work()
        is_over.set()

    thread = threading.Thread(target=long_work)
    turns = 0
    thread.start()
    began.wait()
    while not is_over.is_set():
        turns += 1
        time.sleep(0.0001)  # whoever wakes up asks for the lock again
    thread.join()
    assert turns > 5
