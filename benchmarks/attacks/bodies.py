"""Attacks with bodies that become larger when they are read."""

import gzip
import itertools
from collections.abc import Callable
from typing import Final

from benchmarks.attacks.target import Target, keep, many

_DECODED_BYTES: Final = 9_900_000
_CONTENT: Final = ("content-type: application/json", "content-encoding: gzip")


async def held_gzip_bodies(target: Target) -> None:
    """Sixty calls that wait for a person, each 10 KB on the wire and 10 MB decoded."""
    await _send_many(target, "/bytes/7", lambda number: b'{"n":%d,"x":"' % number + b"x" * _DECODED_BYTES + b'"}')


async def held_gzip_bodies_of_small_values(target: Target) -> None:
    """The same within the ratio that is decoded: 46 KB on the wire, 4.3 MB decoded, 420,000 values."""
    await _send_many(target, "/bytes/7", _many_values)


async def gzip_bodies_of_small_values(target: Target) -> None:
    """The same, allowed and forwarded."""
    await _send_many(target, "/bytes/1", _many_values)


async def held_json_bodies(target: Target) -> None:
    """Of 250 KB, that are read in the event loop, and wait for a person."""
    await _send_many(target, "/bytes/7", lambda number: b"[%d" % number + b",[]" * 80_000 + b"]", coding=False)


def _many_values(number: int) -> bytes:
    noise = b",".join(b"[%d]" % one for one in range(number, number + 20_000))
    return b'{"n":%d,"noise":[%s],"x":[0%s],"y":"%s"}' % (number, noise, b",[]" * 400_000, b"x" * 3_000_000)


async def _send_many(target: Target, path: str, body_of: Callable[[int], bytes], *, coding: bool = True) -> None:
    numbers = itertools.count()
    bodies = [body_of(number) for number in range(60)]
    sent = [gzip.compress(body, 9, mtime=0) for body in bodies] if coding else bodies
    del bodies

    async def once() -> None:
        body = sent[next(numbers) % len(sent)]
        fields = _CONTENT if coding else _CONTENT[:1]
        pair = await target.tunnel()
        pair[1].write(target.head("POST", path, *fields, f"content-length: {len(body)}") + body)
        await keep(target, pair)

    await many(target, 60, once)
