"""What a language model wrote counts, however large its answer is and however it is coded: nobody spends unseen."""

import base64
import gzip
import json

import pytest

from addons.llm_answer import HELD_BYTES_MAX, LlmAnswer
from headgate.protocols.answer_head import parse_answer_head
from headgate.protocols.llm import ModelCall
from headgate.protocols.llm_answer import LlmAnswerReader, Usage
from headgate.protocols.llm_endpoints import LlmForm

_TEXT = "x" * 40_000
_LARGE = json.dumps(
    {
        "choices": [
            {"message": {"content": _TEXT}, "logprobs": {"content": [{"token": "x", "bytes": [120]}] * 40_000}}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 10_000},
    }
).encode()
assert len(_LARGE) > HELD_BYTES_MAX


def _answer(form: LlmForm, body: bytes, *, step: int = 50_000, **fields: str) -> Usage:
    answer = LlmAnswer(ModelCall("openai/m", form))
    named = {"content_type": "application/json", **fields}
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()]
    answer.begin(parse_answer_head(200, headers, method="POST"))
    for at in range(0, len(body), step):
        answer.feed(body[at : at + step])
    usage = answer.usage(request_bytes=400, is_complete=True)
    assert usage is not None
    return usage


@pytest.mark.parametrize("step", [1_000, 49_999, 1_000_000, 10_000_000])
def test_an_answer_that_is_too_large_to_be_kept_counts_what_was_written(step: int) -> None:
    """An agent makes its answer large by asking for log probabilities."""
    assert _answer(LlmForm.CHAT_COMPLETIONS, _LARGE, step=step) == Usage(100, 0, 0, 10_000, estimated=True)


@pytest.mark.parametrize("step", [1_000, 7_777])
def test_a_text_that_is_cut_by_the_bound_counts_whole(step: int) -> None:
    body = json.dumps({"choices": [{"message": {"content": '\\"' * 600_000}}]}).encode()
    assert _answer(LlmForm.CHAT_COMPLETIONS, body, step=step).tokens_out == 600_000


def test_one_event_that_is_too_large_does_not_hide_the_next() -> None:
    body = b"".join(
        b"data: " + json.dumps(one).encode() + b"\n\n"
        for one in ({"response": {"tools": ["y" * HELD_BYTES_MAX]}}, {"delta": _TEXT}, {"response": {"usage": {}}})
    )
    usage = _answer(LlmForm.RESPONSES, body, content_type="text/event-stream")
    assert usage == Usage(100, 0, 0, 10_000, estimated=True)


@pytest.mark.parametrize("coding", ["compress", "gzip, gzip", "gzip"])
def test_what_cannot_be_read_counts_by_its_bytes(coding: str) -> None:
    usage = _answer(LlmForm.CHAT_COMPLETIONS, b"?" * 4_000, content_encoding=coding)
    assert usage == Usage(100, 0, 0, 1_000, estimated=True)


def test_a_piece_that_becomes_too_large_counts_what_was_written() -> None:
    body = gzip.compress(_LARGE)
    usage = _answer(LlmForm.CHAT_COMPLETIONS, body, step=len(body), content_encoding="gzip")
    assert usage.estimated
    assert usage.tokens_out >= 10_000


def test_usage_that_is_nested_deeply_counts_all_the_same() -> None:
    """Its members are read without recursion: an error there would leave the outcome of the call unrecorded."""
    usage = '{"prompt_tokens": 7, "completion_tokens": 9, "prompt_tokens_details": ' * 900 + "{}" + "}" * 900
    body = f'{{"usage": {usage}}}'.encode()
    assert _answer(LlmForm.CHAT_COMPLETIONS, body) == Usage(7, 0, 0, 9)


def test_an_answer_whose_end_cannot_be_read_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(reader: LlmAnswerReader, body: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(LlmAnswerReader, "message", fail)
    assert _answer(LlmForm.CHAT_COMPLETIONS, b'{"usage": {"prompt_tokens": 7}}') == Usage(100, 0, 0, 0, estimated=True)


def test_embeddings_write_nothing_however_large_they_are() -> None:
    body = json.dumps({"data": [{"embedding": [0.5] * 400_000}]}).encode()
    assert _answer(LlmForm.EMBEDDINGS, body).tokens_out == 0
    assert _answer(LlmForm.EMBEDDINGS, b"?" * 4_000, content_encoding="compress").tokens_out == 0


def test_the_stream_of_bedrock_says_its_usage_in_chunks() -> None:
    """``invoke-with-response-stream``: the events of the model, in base64 between binary headers."""
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hello"}},
        {"type": "message_delta", "usage": {"output_tokens": 700}},
    ]
    chunks = [
        json.dumps({"bytes": base64.b64encode(json.dumps(one).encode()).decode()}, separators=(",", ":"))
        for one in events
    ]
    body = b"".join(b"\x00\x00\x01\x0b:event-type\x07\x00\x05chunk" + one.encode() + b"\xd5\x01" for one in chunks)
    usage = _answer(LlmForm.MESSAGES, body, content_type="application/vnd.amazon.eventstream")
    assert usage == Usage(25, 0, 0, 700)
