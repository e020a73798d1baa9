"""A thread that reads or writes many values lets others have the interpreter."""

import threading
import time

import pytest
from regorus import canonical_json, parse_json

_TEXTS = {
    "lists": b"[0" + b",[]" * 400_000 + b"]",
    "members": b"{" + b",".join(b'"%d":null' % number for number in range(330_000)) + b"}",
}
_VALUES = {name: parse_json(text) for name, text in _TEXTS.items()}


@pytest.mark.parametrize("name", _TEXTS)
@pytest.mark.parametrize("writes", [False, True])
def test_another_thread_goes_on_meanwhile(name: str, writes: bool) -> None:
    began, is_over = threading.Event(), threading.Event()

    def long_work() -> None:
        began.set()
        canonical_json(_VALUES[name]) if writes else parse_json(_TEXTS[name])
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
