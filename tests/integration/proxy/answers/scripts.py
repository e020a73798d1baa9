"""What a destination answers, byte by byte, and what becomes of it."""

import json
from datetime import UTC, datetime

from headgate.nlp_policies.model import Direction, NlpDraft, NlpPolicy, NlpPolicyType, Scope

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MAIL = "maria.keller@example.com"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: "


def plain(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{field}\r\n" for field in fields)
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode("latin-1") + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(data: str) -> bytes:
    return chunk(f"data: {data}\n\n".encode())


def policy(name: str = "No addresses", provider: str = "embedded", **fields) -> NlpPolicy:
    draft = NlpDraft(
        name=name,
        type=fields.pop("type", NlpPolicyType.PII_DETECTION),
        provider=provider,
        model=fields.pop("model", "pii"),
        threshold=0.6,
        scope=Scope(direction=Direction.RESPONSE),
        **fields,
    )
    now = datetime.now(UTC)
    return NlpPolicy("org_1", f"nlp_{name.rsplit(maxsplit=1)[-1]}", 3, draft, now, now)


SECRETS = policy("No secrets", model="secrets")


async def ask(running, answer, *script: bytes, method: str = "GET", wait_seconds: float = 5):
    """What the client gets for this answer of the destination, and how the call ended."""
    running.upstream.scripts[b"/it"] = list(script)
    received = await running.secure(running.get("/it", method=method), wait_seconds=wait_seconds)
    await running.settled()
    [completion] = running.decide.completions
    running.decide.completions.clear()
    assert running.gate.budget.used_bytes == 0
    return (answer(received) if received else None), received, completion


def error_of(received) -> dict:
    assert received.status == 403
    assert received.complete
    error = json.loads(received.body)["error"]
    assert error["code"] == "RESPONSE_WITHHELD"
    return error
