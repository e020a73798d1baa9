"""The request that goes out: the call as it was decided, and what only its carrying-out adds."""

from datetime import datetime
from typing import Final

from headgate.connections.carried import Carried
from headgate.outgoing.model import OutgoingRequest
from headgate.protocols.draft import ActionDraft, Effect
from headgate.tools.model import Entry

_PORTS: Final = {"https": 443, "http": 80}
_IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
"""draft-ietf-httpapi-idempotency-key-header; the draft has expired, the name is what services agree on."""


def outgoing_request(
    draft: ActionDraft, entry: Entry | None, execution_id: str, carried: Carried | None, at: datetime
) -> OutgoingRequest:
    """The execution's id is the idempotency key, the same for all attempts. Neither it nor the credential is covered
    by the digest (``config/digest.yaml``), and neither is recorded. Raises ValueError without a call, NoConnectionError
    where it has no place for the credential."""
    call = draft.call
    if call is None:
        raise ValueError("there is no call to make")
    if carried is not None:
        call = carried.written(call, at)
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in call.headers]
    given = {name.lower() for name, _ in headers}
    named = None if entry is None else entry.sending.idempotency_header
    key_header = named or _IDEMPOTENCY_HEADER
    if (named is not None or draft.effect is not Effect.READ) and key_header.lower() not in given:
        headers.append((key_header, execution_id))
    host = f"[{call.host}]" if ":" in call.host else call.host
    authority = host if call.port == _PORTS[call.scheme] else f"{host}:{call.port}"
    query = f"?{call.query}" if call.query else ""
    return OutgoingRequest(call.method, f"{call.scheme}://{authority}{call.path}{query}", tuple(headers), call.body)
