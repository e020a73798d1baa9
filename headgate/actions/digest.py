"""What an approval is bound to: SHA-256 over canonical JSON of the action and of the very call.

``{v, org, agent, source, tool, operation, params, call}``, and ``connection`` where the call uses one (semantics.md,
"The action and what an approval covers"), joined from pieces that are canonical already: a property test compares with
the whole.
"""

import hashlib

from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.protocols.draft import ActionDraft, ReadCall

DIGEST_VERSION = 1


def action_digest(draft: ActionDraft, *, org_id: str, agent_id: str, connection_id: str | None = None) -> bytes:
    """32 bytes; the values are not masked. ``connection_id``: whose credential the call will carry, and of
    which account (``Connection.covered``)."""
    call = b"null" if draft.read_call is None else canonical_bytes(covered_call(draft.read_call))
    connection = b"" if connection_id is None else b',"connection":' + canonical_bytes(connection_id)
    names = f'"source":"{draft.source}","tool":"{draft.tool}","v":{DIGEST_VERSION}}}'
    whole = b"".join(
        (
            b'{"agent":',
            canonical_bytes(agent_id),
            b',"call":',
            call,
            connection,
            f',"operation":"{draft.operation}","org":'.encode(),
            canonical_bytes(org_id),
            b',"params":',
            draft.params_bytes,
            b",",
            names.encode(),
        )
    )
    return hashlib.sha256(whole).digest()


def covered_call(read_call: ReadCall) -> JsonObject:
    """The call as approvals cover it: path and query as sent, headers but for ``config/digest.yaml``.

    ``body_sha256`` stands for the body's bytes, a multipart boundary included (decision 0044); of an MCP message for
    the message without its id and progress token.
    """
    call = read_call.call
    return {
        "body_sha256": read_call.covered_body_sha256,
        "headers": read_call.covered_headers,
        "host": call.host,
        "method": call.method,
        "path": call.path,
        "port": call.port,
        "query": call.query,
        "scheme": call.scheme,
    }
