"""One call that is being captured, from its decision to its end: what is kept of it on the way, in memory."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

from mitmproxy.http import HTTPFlow
from msgspec.structs import replace

from addons.response_meter import ResponseMeter
from headgate.gate.candidate import ReadAction
from headgate.gate.masking import Masking
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import MASK
from headgate.traffic.model import Captured, CaptureLevel, Loss, Message

_QUOTED_MAX: Final = 500
_UNSEEN: Final = "it broke off before policies about content had looked at it"
_NOT_KEPT: Final = f"/{MASK}"
"""In place of path and query, which may hold what a policy masks too."""


class Captures(Protocol):
    """Where what was captured goes. None of it waits or raises."""

    def begin(self, org_id: str) -> None: ...
    def reserve(self, size: int) -> bool: ...
    def release(self, size: int) -> None: ...
    def submit(self, captured: Captured) -> None: ...
    def lose(self, org_id: str, cause: Loss) -> None: ...


class CapturingMeter(ResponseMeter):
    """Counts as the other does, and keeps the beginning of what passes."""

    __slots__ = ("_call", "_limit", "kept", "pieces")

    def __init__(self, call: "CapturedCall", limit: int) -> None:
        super().__init__()
        self._call = call
        self._limit = limit
        self.kept = 0
        self.pieces: list[bytes] = []

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        room = self._limit - self.kept
        if room > 0 and data:
            piece = data[:room]
            if self._call.reserve(len(piece)):
                self.pieces.append(piece)
                self.kept += len(piece)
            else:
                self._limit = self.kept
        return super().__call__(data)


class CapturedCall:
    """One call that is being captured, from its decision to its end."""

    __slots__ = (
        "_captures", "_limit", "_masking", "_meter", "_reserved", "action", "action_id", "decision",
        "is_answer_replaced", "level", "masked_stream_bytes", "org_id",
    )  # fmt: skip

    def __init__(
        self,
        captures: Captures,
        action: ReadAction,
        level: CaptureLevel,
        limit: int,
        *,
        org_id: str,
        action_id: str | None,
        decision: str,
        masking: Masking,
    ) -> None:
        self._captures = captures
        self._limit = limit if level is CaptureLevel.BODIES else 0
        self._meter: CapturingMeter | None = None
        self._reserved = 0
        self._masking = masking
        self.is_answer_replaced = False
        self.masked_stream_bytes: int | None = None
        """How much of a stream the agent got in which events were masked; of it nothing is kept."""
        self.action = action
        self.level = level
        self.org_id = org_id
        self.action_id = action_id
        self.decision = decision

    def meter(self) -> ResponseMeter:
        self._meter = CapturingMeter(self, self._limit) if self._limit else None
        return self._meter or ResponseMeter()

    def reserve(self, size: int) -> bool:
        if not self._captures.reserve(size):
            return False
        self._reserved += size
        return True

    def end(self, flow: HTTPFlow, error: str | None) -> None:
        """The answer is whole, or will never be."""
        try:
            self._captures.submit(self._captured(flow, error))
        finally:
            self._release()

    def end_unseen(self, flow: HTTPFlow) -> None:
        """The answer broke off before policies about content had looked at all of it: as of one that is withheld,
        nothing is kept that its sender wrote, which an error may quote too."""
        try:
            self._captures.submit(replace(self._captured(flow, _UNSEEN), reason="", response=None))
        finally:
            self._release()

    def _release(self) -> None:
        self._captures.release(self._reserved)
        self._reserved = 0

    def _captured(self, flow: HTTPFlow, error: str | None) -> Captured:
        request = flow.request.data
        content = self._masking.sent(request.content)
        is_kept = self._masking.is_complete
        response = None if flow.response is None else flow.response.data
        started_at = request.timestamp_start
        return Captured(
            exchange_id=new_id(IdPrefix.EXCHANGE),
            org_id=self.org_id,
            agent_id=self.action.agent_id,
            action_id=self.action_id,
            tool=self.action.tool,
            operation=self.action.operation,
            decision=self.decision,
            level=self.level,
            created_at=datetime.fromtimestamp(started_at, UTC),
            method=request.method.decode("latin-1"),
            scheme=request.scheme.decode("latin-1"),
            host=request.host,
            port=request.port,
            path=request.path.decode("latin-1") if is_kept else _NOT_KEPT,
            request=Message(
                request.headers.fields if is_kept else (),
                self._beginning(content) if is_kept else None,
                len(content or b""),
                request.http_version.decode("latin-1"),
                started_at,
                request.timestamp_end,
            ),
            status=None if response is None else response.status_code,
            reason="" if response is None else response.reason.decode("latin-1"),
            response=None if response is None else self._answer(flow),
            error=None if error is None else _storable(error),
        )

    def _answer(self, flow: HTTPFlow) -> Message:
        if flow.response is None:
            raise RuntimeError("an answer without a head")
        data = flow.response.data
        meter = flow.response.stream
        body: bytes | None
        if self.masked_stream_bytes is not None:
            body, size = None, self.masked_stream_bytes
        elif isinstance(meter, ResponseMeter) and meter.size_bytes and not self.is_answer_replaced:
            kept: Sequence[bytes] = self._meter.pieces if self._meter is not None else ()
            body, size = b"".join(kept) if self._limit else None, meter.size_bytes
        else:
            body, size = self._beginning(data.content), len(data.content or b"")
        version = data.http_version.decode("latin-1")
        return Message(data.headers.fields, body, size, version, data.timestamp_start, data.timestamp_end)

    def _beginning(self, content: bytes | None) -> bytes | None:
        return (content or b"")[: self._limit] if self._limit else None


def _storable(text: str) -> str:
    """As ``addons.outcome`` has it: no lone surrogates, no NUL."""
    return text[:_QUOTED_MAX].encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
