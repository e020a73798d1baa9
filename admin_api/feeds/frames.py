"""Server-sent events (WHATWG HTML, section 9.2) as bytes, encoded once for all viewers of a feed."""

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject

_RECONNECT_MILLISECONDS: Final = 1_000
HEARTBEAT: Final = b": still here\n\n"


class Frame(Struct, frozen=True):
    """``seq``: the place in the organization's audit chain, which is the event's id. ``agent_id``: whose call it is
    about; None: of no agent."""

    seq: int
    agent_id: str | None
    data: bytes


class Batch(Struct, frozen=True):
    """What one look of a feed found, oldest first. ``joined`` is shared by all viewers that see everything."""

    frames: Sequence[Frame]
    joined: bytes

    def after(self, seq: int, agent_id: str | None) -> bytes:
        """The frames behind ``seq``; with ``agent_id``, those about this agent's calls and about none's."""
        if agent_id is None and self.frames[0].seq > seq:
            return self.joined
        wanted = (one for one in self.frames if one.seq > seq)
        return b"".join(one.data for one in wanted if agent_id is None or one.agent_id in (None, agent_id))


def batch_of(frames: Sequence[Frame]) -> Batch:
    return Batch(frames, b"".join(one.data for one in frames))


def frame(seq: int, event: str, agent_id: str | None, body: JsonObject) -> Frame:
    # One line of ASCII: nothing that an agent wrote can end it or begin another field.
    return Frame(seq, agent_id, f"id: {seq}\nevent: {event}\ndata: {json.dumps(body)}\n\n".encode())


def opening(seq: int) -> bytes:
    return f"retry: {_RECONNECT_MILLISECONDS}\nid: {seq}\n: open\n\n".encode()


def ending(reason: str) -> bytes:
    """Without an id: the client keeps its place, and comes back to it."""
    return f"event: feed.ended\ndata: {json.dumps({'reason': reason})}\n\n".encode()
