"""The memory that is charged for a call is about what its params take, or more."""

import gc
import tracemalloc

import pytest

from headgate.gate.candidate import candidate_for
from headgate.gate.candidate_weight import weight_of
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.protocols.draft import ActionDraft, ProtocolFacts, Source, make_draft
from tests.unit.gate.identities import ROBOT

_COUNT = 5_000
_ABOUT = 1.1


def call(params: JsonObject, facts: ProtocolFacts | None = None) -> ActionDraft:
    return make_draft(tool="mail", operation="send", params=params, source=Source.API, facts=facts)


def memory_of(params: JsonObject) -> int:
    """Of these objects, in bytes."""
    data = canonical_bytes(params)
    gc.collect()
    tracemalloc.start()
    try:
        kept = parse_strict(data)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept == params
    return taken


@pytest.mark.parametrize(
    "value",
    [
        [[] for _ in range(_COUNT)],
        [number + 1_000_000 for number in range(_COUNT)],
        [f"text {number}" for number in range(_COUNT)],
        [{} for _ in range(_COUNT)],
        {f"name {number}": number % 200 for number in range(_COUNT)},
        [{"a": number} for number in range(_COUNT)],
        "x" * 500_000,
    ],
    ids=["lists", "numbers", "texts", "objects", "members", "objects with members", "one text"],
)
def test_many_small_values_are_charged(value: JsonValue) -> None:
    params: JsonObject = {"value": value}
    taken, charged = memory_of(params), weight_of(candidate_for(ROBOT, call(params)))
    assert taken <= _ABOUT * charged


def test_what_detectors_open_is_charged() -> None:
    """Of a message of gRPC: bytes that stand in params as their digest."""
    facts = ProtocolFacts("grpc", b"{}", opaque=((("messages", 0), b"x" * 100_000),))
    charged = [weight_of(candidate_for(ROBOT, call({"messages": []}, one))) for one in (None, facts)]
    assert charged[1] - charged[0] >= 100_000
