"""A client's end of a stream of server-sent events."""

import json
from collections.abc import AsyncIterator

import httpx


async def event_stream(answer: httpx.Response) -> AsyncIterator[dict]:
    """As the standard says that a stream is read; the comments too, as events of no name."""
    event: dict = {}
    async for line in answer.aiter_lines():
        if not line:
            if event:
                yield event
            event = {}
        elif line.startswith(":"):
            event["comment"] = line
        else:
            name, _, value = line.partition(": ")
            event[name] = json.loads(value) if name == "data" else value
