"""A provider of language models on a port of its own: chat completions and messages, whole and streamed.

``tokens_in`` and ``tokens_out`` are what the next answers say. A stream says its first word, and the rest
when ``go`` is set: a test sees that words arrive one by one.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = ("Hello", " from", " a", " model", ".")


@dataclass
class Provider:
    """``says_usage`` False: an answer does not say what it took."""

    url: str = ""
    tokens_in: int = 10
    tokens_out: int = 5
    says_usage: bool = True
    status: int = 200
    go: threading.Event = field(default_factory=threading.Event)

    def says(self, tokens_in: int, tokens_out: int, *, says_usage: bool = True, status: int = 200) -> None:
        self.tokens_in, self.tokens_out, self.says_usage, self.status = tokens_in, tokens_out, says_usage, status
        self.go.set()

    @property
    def _openai(self) -> dict[str, Any]:
        total = self.tokens_in + self.tokens_out
        return {"prompt_tokens": self.tokens_in, "completion_tokens": self.tokens_out, "total_tokens": total}

    def whole(self, path: str) -> dict[str, Any]:
        if self.status >= 400:
            return {"error": {"message": "no such model", "type": "invalid_request_error"}}
        if path.endswith("/messages"):
            return {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": "".join(WORDS)}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": self.tokens_in, "output_tokens": self.tokens_out},
            }
        call = {"id": "call_1", "type": "function", "function": {"name": "pay_invoice", "arguments": "{}"}}
        message = {"role": "assistant", "content": "".join(WORDS), "tool_calls": [call]}
        answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return {**answer, "choices": choices, **({"usage": self._openai} if self.says_usage else {})}

    def events(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if path.endswith("/messages"):
            start = {**self.whole(path), "content": [], "stop_reason": None}
            start["usage"] = {"input_tokens": self.tokens_in, "output_tokens": 1}
            yield "message_start", {"message": start}
            yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
            for word in WORDS:
                yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
            yield "content_block_stop", {"index": 0}
            usage = {"output_tokens": self.tokens_out}
            yield "message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}
            yield "message_stop", {}
            return
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": None}
        for word in WORDS:
            delta = {"role": "assistant", "content": word}
            yield "", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield "", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        if self.says_usage:
            yield "", {**chunk, "choices": [], "usage": self._openai}


@contextmanager
def serving_models() -> Iterator[Provider]:
    provider = Provider()
    provider.go.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if body.get("stream") and provider.status < 400:
                self._stream()
                return
            answer = json.dumps(provider.whole(self.path)).encode()
            self.send_response(provider.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for kind, event in provider.events(self.path):
                named = f"event: {kind}\n" if kind else ""
                data = json.dumps({"type": kind, **event} if kind else event)
                self.wfile.write(f"{named}data: {data}\n\n".encode())
                self.wfile.flush()
                if WORDS[0] in data:
                    provider.go.wait(60)
            if "chat" in self.path:
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, name="models", daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            provider.go.set()
            server.shutdown()
            thread.join()
