"""Captured exchanges as tests need them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headgate.kernel.ids import IdPrefix, new_id
from headgate.traffic.model import Captured, CaptureLevel, Message
from headgate.vault.master_keys import create_master_keys
from headgate.vault.service import Vault

ORG = "org_00000000-0000-7000-8000-000000000001"


def sample(
    *,
    org_id: str = ORG,
    agent_id: str = "agt_1",
    body: bytes = b'{"mail":"eva.muster@example.com"}',
    answer: bytes | None = b"hello",
    content_type: bytes = b"application/json",
    **changes: Any,
) -> Captured:
    headers = ((b"Host", b"api.example.com"), (b"Content-Type", content_type), (b"Authorization", b"Bearer x"))
    response = None
    if answer is not None:
        response = Message(((b"content-type", b"text/plain"),), answer, len(answer), "HTTP/1.1", 10.1, 10.25)
    fields: dict[str, Any] = {
        "exchange_id": new_id(IdPrefix.EXCHANGE),
        "org_id": org_id,
        "agent_id": agent_id,
        "action_id": new_id(IdPrefix.ACTION),
        "tool": "mail",
        "operation": "send",
        "decision": "allow",
        "level": CaptureLevel.BODIES,
        "created_at": datetime.now(UTC),
        "method": "POST",
        "scheme": "https",
        "host": "api.example.com",
        "port": 443,
        "path": "/send?to=eva.muster@example.com&token=abc123",
        "request": Message(headers, body, len(body), "HTTP/1.1", 10.0, 10.05),
        "status": None if answer is None else 200,
        "reason": "OK",
        "response": response,
        "error": None,
    }
    return Captured(**fields | changes)


def vault_in(folder: Path) -> Vault:
    keys_file = folder / "keys" / "master-keys.json"
    create_master_keys(keys_file)
    return Vault(keys_file)
