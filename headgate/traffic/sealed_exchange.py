"""A masked exchange as a row: compressed (RFC 8878), then encrypted under a key of its own.

The key is wrapped by the master key (``headgate.vault.envelope``), with the organization and the exchange named in
both: a row that is copied to another organization does not open, and without its wrapped key nothing of it ever does
again.
"""

from typing import Any, Final

import zstandard

from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import NotFoundError, UnavailableError, ValidationError
from headgate.traffic.mask_exchange import MaskedExchange
from headgate.traffic.model import Captured, Kept, Message
from headgate.vault.envelope import Envelope
from headgate.vault.service import Vault

_LEVEL: Final = 3
_DOCUMENT_MAX_BYTES: Final = 16 << 20


def seal_exchange(captured: Captured, masked: MaskedExchange, vault: Vault) -> Kept:
    """Raises UnavailableError where the master key is not there."""
    plain = zstandard.ZstdCompressor(_LEVEL).compress(canonical_bytes(masked.document))
    name = sealed_as(captured.exchange_id)
    envelope = vault.seal_bytes(plain, org_id=captured.org_id, name=name)
    return Kept(
        exchange_id=captured.exchange_id,
        org_id=captured.org_id,
        agent_id=captured.agent_id,
        action_id=captured.action_id,
        tool=captured.tool,
        operation=captured.operation,
        decision=captured.decision,
        level=captured.level,
        created_at=captured.created_at,
        method=captured.method,
        scheme=captured.scheme,
        host=captured.host,
        port=captured.port,
        target=masked.target,
        status=captured.status,
        duration_ms=_duration_ms(captured.request, captured.response),
        request_bytes=captured.request.size_bytes,
        response_bytes=0 if captured.response is None else captured.response.size_bytes,
        masking=canonical_bytes(masked.masking).decode(),
        omitted=canonical_bytes(masked.omitted).decode(),
        error=masked.error,
        key_id=envelope.key_id,
        wrapped_key=envelope.wrapped_key,
        content=envelope.ciphertext,
    )


def open_exchange(kept: Kept, vault: Vault) -> JsonObject:
    """The document. Raises NotFoundError where it was erased, UnavailableError where it does not open."""
    if kept.key_id is None or kept.wrapped_key is None or kept.content is None:
        raise NotFoundError(f"{kept.exchange_id} was erased", details={"erased": True})
    envelope = Envelope(kept.key_id, kept.wrapped_key, kept.content)
    plain = vault.unseal_bytes(envelope, org_id=kept.org_id, name=sealed_as(kept.exchange_id))
    try:
        document: Any = parse_strict(zstandard.ZstdDecompressor().decompress(plain, _DOCUMENT_MAX_BYTES))
    except (zstandard.ZstdError, ValidationError) as error:
        raise UnavailableError(f"{kept.exchange_id} cannot be read: it is not in the form that was sealed") from error
    opened: JsonObject = document
    return opened


def _duration_ms(request: Message, response: Message | None) -> float | None:
    ended_at = None if response is None else response.ended_at
    if request.started_at is None or ended_at is None:
        return None
    return round((ended_at - request.started_at) * 1000, 3)


def sealed_as(exchange_id: str) -> str:
    """The name that both ciphertexts are bound to."""
    return f"traffic {exchange_id}"
