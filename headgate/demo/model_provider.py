"""What the demonstration's model provider answers: the streamed forms of OpenAI's and Anthropic's completions."""

import json
from collections.abc import Iterator
from typing import Final

_WORDS: Final = ("Hello", " from", " a", " local", " model", ".")


def completion_events(path: str) -> Iterator[bytes] | None:
    """The server-sent events of a completion at ``path``; None: it is no completion."""
    if path == "/v1/chat/completions":
        return _openai()
    if path == "/v1/messages":
        return _anthropic()
    return None


def _openai() -> Iterator[bytes]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "demo"}
    for word in _WORDS:
        yield _data({**base, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
    yield _data({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield b"data: [DONE]\n\n"


def _anthropic() -> Iterator[bytes]:
    message: dict[str, object] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "demo", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    yield _event({"type": "message_start", "message": message})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for word in _WORDS:
        yield _event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}})
    yield _event({"type": "content_block_stop", "index": 0})
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 6}})
    yield _event({"type": "message_stop"})


def _event(document: dict[str, object]) -> bytes:
    return f"event: {document['type']}\n".encode() + _data(document)


def _data(document: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
