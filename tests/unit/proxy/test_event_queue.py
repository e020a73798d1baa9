"""The small queue behaves as the deque in whose place it stands, and a layer is made as mitmproxy makes it."""

from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.connection import Client
from mitmproxy.options import Options
from mitmproxy.proxy import events, layers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer

from proxy.event_queue import EventQueue, use_event_queues

_INIT = Layer.__init__


@given(st.lists(st.sampled_from(("append", "popleft"))))
def test_the_order_is_that_of_a_deque(steps: list[str]) -> None:
    mine, theirs, made = EventQueue(), deque[events.Event](), 0
    with pytest.raises(IndexError):
        mine.popleft()
    for step in steps:
        if step == "append":
            made += 1
            event = cast("events.Event", SimpleNamespace(number=made))
            mine.append(event)
            theirs.append(event)
        elif theirs:
            assert mine.popleft() is theirs.popleft()
        assert list(mine) == list(theirs)
        assert bool(mine) == bool(theirs)


def test_a_layer_has_what_mitmproxy_gives_it() -> None:
    def made() -> tuple[dict[str, Any], int]:
        context = Context(Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0), Options())
        layer = layers.modes.HttpProxy(context)
        return {name: one for name, one in vars(layer).items() if name != "context"}, context.layers.index(layer)

    before, place = made()
    use_event_queues()
    try:
        after, place_after = made()
    finally:
        Layer.__init__ = _INIT  # type: ignore[method-assign] # as it was
    assert isinstance(after["_paused_event_queue"], EventQueue)
    assert list(before.pop("_paused_event_queue")) == list(after.pop("_paused_event_queue")) == []
    assert before == after
    assert place == place_after
