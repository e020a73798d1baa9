"""Breaks the reference cycles between the layers of a connection that has ended.

Each of mitmproxy's layers refers to itself (its state is a bound method), to its children and, by its context, to its
parents. Left to the garbage collector, a thousand ended connections cause a pause of the event loop of 150 ms.
"""

from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer


def take_apart(outermost: Layer) -> None:
    """It, those around it and those in it. Nothing may be passed to any of them afterwards."""
    found: list[object] = [outermost]
    while found:
        one = found.pop()
        if isinstance(one, dict):
            found.extend(one.values())
        elif isinstance(one, list):
            found.extend(one)
        elif isinstance(one, Context):
            found.extend(one.layers)
        elif isinstance(one, Layer) and (attributes := vars(one)):
            found.extend(value for value in attributes.values() if isinstance(value, Layer | Context | dict | list))
            empty(one)


def empty(layer: Layer) -> None:
    """A hook that is still under way may ask whether its stream is ``abandoned``."""
    attributes = vars(layer)
    abandoned = attributes.get("abandoned")
    attributes.clear()
    if abandoned is not None:
        attributes["abandoned"] = abandoned
