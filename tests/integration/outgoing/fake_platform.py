"""What the fakes of platforms have in common: a server on loopback that reads JSON, keeps what was asked, and answers
what the platform's description says, unless a test says otherwise."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.integration.outgoing.receivers import Receiver, Receivers


@dataclass(frozen=True)
class Asked:
    """One request, read."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None


@dataclass(frozen=True)
class Answered:
    status: int = 200
    body: Any = None
    headers: tuple[str, ...] = ()


@dataclass
class FakePlatform:
    """``scripted``: answers in the place of the platform's own, taken from the front; ``lost``: so many changes are
    carried out, and their answers never arrive."""

    receiver: Receiver
    asked: list[Asked] = field(default_factory=list)
    scripted: list[Answered] = field(default_factory=list)
    lost: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}"

    def of(self, method: str, part: str) -> list[Asked]:
        return [one for one in self.asked if one.method == method and part in one.path]

    def respond(self, asked: Asked) -> Answered:
        raise NotImplementedError

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = _read(self.receiver.requests[-1])
        self.asked.append(asked)
        answered = self.scripted.pop(0) if self.scripted else self.respond(asked)
        if self.lost and asked.method != "GET":
            self.lost -= 1
            return
        content = b"" if answered.body is None else json.dumps(answered.body).encode()
        lines = [f"HTTP/1.1 {answered.status} Whatever", f"Content-Length: {len(content)}", *answered.headers, "", ""]
        writer.write("\r\n".join(lines).encode() + content)


def _read(request: bytes) -> Asked:
    head, _, body = request.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    method, target, _ = line.split(" ")
    parts = urlsplit(target)
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
    return Asked(method, parts.path, {key: one[0] for key, one in parse_qs(parts.query).items()}, headers, body)


async def start[Fake: FakePlatform](world: Receivers, cls: type[Fake], **more: Any) -> Fake:
    async def not_yet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("it was asked before it was there")

    receiver = await world.start(not_yet)
    fake = cls(receiver, **more)
    receiver.answer = fake.answer
    return fake
