"""What an agent has sent lately: what it costs to keep, whatever the names of the members are."""

import tracemalloc

from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.request_window import RequestWindows

LONG_NAME = "n" * 200_000


def entered(*bodies: JsonValue) -> list[tuple[tuple[str, ...], str]]:
    windows = RequestWindows(lambda: 0.0)
    for number, body in enumerate(bodies):
        joined = windows.enter("org", "agent", windows.read(str(number), {"params": {"body": body}}))
    return [(one.before, one.text) for one in joined]


def test_long_names_are_not_repeated_for_each_value_below_them() -> None:
    body: JsonValue = {LONG_NAME: {f"k{number}": ["x"] for number in range(500)}}
    tracemalloc.start()
    try:
        entered(body, body)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 5_000_000


def test_the_same_long_place_is_one_place_and_another_is_another() -> None:
    assert (("a",), "b") in entered({LONG_NAME: "a"}, {LONG_NAME: "b"})
    assert (("a",), "b") in entered({LONG_NAME: ["a"]}, {LONG_NAME: ["b"]})
    others = entered({LONG_NAME: "a", LONG_NAME + "1": "c"}, {LONG_NAME: "b", LONG_NAME + "1": "d"})
    assert {(("a",), "b"), (("c",), "d")} <= set(others)
