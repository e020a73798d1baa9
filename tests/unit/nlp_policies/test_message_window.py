"""Messages of one connection, read together: what is found of a secret in pieces, what is not taken for one, and what
a window costs."""

import base64
import hashlib
import json
import random
import tracemalloc
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.document import JoinedText
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.message_window import (
    CHARACTERS_MAX,
    JOINED_CHARACTERS_MAX,
    JOINED_MESSAGES_MAX,
    MessageWindow,
)
from headgate.nlp_policies.request_window import REQUESTS_MAX
from tests.labelled import credentials

_LABELLED = Path(__file__).parents[2] / "labelled"


def found(messages: Sequence[JsonValue]) -> list[int]:
    """Which messages complete a secret."""
    window = MessageWindow()
    joined = [window.arrived().joined([one]) for one in messages]
    return [number for number, one in enumerate(joined) if assess(EmbeddedModel.SECRETS, {}, joined=one).issues]


def _pieces(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


_MADE: list[Callable[[random.Random], str]] = [
    credentials.github,
    credentials.github_fine,
    credentials.npm,
    credentials.aws_id,
    credentials.slack,
    credentials.stripe,
    credentials.gitlab,
    credentials.jwt,
]


@pytest.mark.parametrize("make", _MADE, ids=lambda one: one.__name__)
@pytest.mark.parametrize("length", [3, 7, 15])
def test_a_secret_in_pieces_is_found_before_all_of_it_is_sent(
    make: Callable[[random.Random], str], length: int
) -> None:
    """Of a form without an end, its first pieces are a secret already."""
    secret = make(random.Random(length))  # noqa: S311 - repeatable, not secret
    before: list[JsonValue] = [f"Message {number} about nothing." for number in range(3 * REQUESTS_MAX)]
    texts = _pieces(secret, length)
    chunks: list[JsonValue] = [{"type": "chunk", "n": number, "data": one} for number, one in enumerate(texts)]
    for messages in ([*before, *texts], [*before, *chunks]):
        assert len(before) < found([*messages, "That was all."])[0] < len(messages)


def test_a_message_that_is_read_late_is_joined_with_those_after_it() -> None:
    """Its rules took longer. The others wait for it, and none of them is sent before."""
    secret = credentials.github(random.Random(8))  # noqa: S311 - repeatable, not secret
    window = MessageWindow()
    pieces = _pieces(secret, 10)
    arrived = [window.arrived() for _ in pieces]
    for number in (0, 2, 3):
        assert not assess(EmbeddedModel.SECRETS, {}, joined=arrived[number].joined([pieces[number]])).issues
    assert assess(EmbeddedModel.SECRETS, {}, joined=arrived[1].joined([pieces[1]])).issues == ("github_token",)


def test_a_message_that_is_decided_again_takes_its_own_place() -> None:
    window = MessageWindow()
    first, second = window.arrived(), window.arrived()
    first.joined(["as it was"])
    first.joined(["masked"])
    assert second.joined(["b"]) == (JoinedText(("masked",), "b", ".body"),)
    assert second.joined(["b"]) == (JoinedText(("masked",), "b", ".body"),)


def test_messages_that_arrive_together_are_joined_one_by_one() -> None:
    window = MessageWindow()
    window.arrived().joined(["a", "b"])
    joined = window.arrived().joined(["c", "d"])
    assert joined == (JoinedText(("a", "b"), "c", ".body"), JoinedText(("a", "b", "c"), "d", ".body"))
    many = window.arrived().joined([f"m{number}" for number in range(500)])
    assert [one.text for one in many] == [f"m{number}" for number in range(JOINED_MESSAGES_MAX)]
    [last] = window.arrived().joined(["e"])
    assert last.before[-1] == "m499"


def test_what_is_always_the_same_is_joined_with_nothing() -> None:
    window = MessageWindow()
    for number in range(3):
        joined = window.arrived().joined([{"type": "note", "id": number}])
    assert [(one.before, one.text, one.place) for one in joined if one.place != "*"] == [(("0", "1"), "2", ".body.id")]


def test_a_window_is_bounded() -> None:
    body: JsonValue = {f"m{number}": "x" * 300 for number in range(200)}
    for messages in (["a"] * 1_000, [str(number) * 300 for number in range(100)], [body] * 10):
        window = MessageWindow()
        tracemalloc.start()
        try:
            for one in messages:
                joined = window.arrived().joined([one])
            kept_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept_bytes < 400_000
        assert sum(one.weight for one in window._kept) <= CHARACTERS_MAX or len(window._kept) == 1
        assert all(len("".join(one.before)) <= JOINED_CHARACTERS_MAX for one in joined)


def _ordinary() -> Iterator[tuple[str, list[JsonValue]]]:
    rng = random.Random(16)  # noqa: S311 - repeatable, not secret
    texts = [json.loads(line)["text"] for line in (_LABELLED / "injections_blind.jsonl").read_text().splitlines()]
    chat = [one for one in texts if len(one) < 600][:150]
    file = base64.b64encode(rng.randbytes(60_000)).decode()
    source = base64.b64encode(Path(__file__).read_bytes()).decode()
    ids = [str(uuid.UUID(bytes=rng.randbytes(16))) for _ in range(200)]
    yield "chat", chat
    yield "chat in JSON", [{"type": "message", "id": one, "text": text} for one, text in zip(ids, chat, strict=False)]
    yield "words", [{"delta": {"content": f" {word}"}} for text in chat[:20] for word in text.split()][:400]
    yield "numbers", [*map(str, range(300))]
    yield "times and values", [{"at": 1_700_000_000 + n * 7, "value": rng.random() * 1000} for n in range(200)]
    yield "chunks of a file", [*_pieces(file, 400)]
    yield "chunks of a file in JSON", [{"part": n, "data": one} for n, one in enumerate(_pieces(file, 400))]
    yield "short chunks", [*_pieces(file, 60)[:400]]
    yield "chunks of text in base64", [*_pieces(source, 76)]
    yield "source code", [*Path(__file__).read_text().splitlines()]
    yield "identifiers", [{"id": one, "parent": hashlib.sha1(one.encode()).hexdigest()} for one in ids]  # noqa: S324


_ORDINARY = dict(_ordinary())


@pytest.mark.parametrize("kind", _ORDINARY)
def test_ordinary_messages_make_no_secret(kind: str) -> None:
    assert found(_ORDINARY[kind]) == []
