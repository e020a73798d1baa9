"""A call that runs later, with its secrets, as it is kept in the vault (semantics.md, "Recording")."""

import base64
from typing import Final, cast

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.protocols.draft import ActionDraft
from headgate.protocols.http_call import HttpCall

_VERSION: Final = 1


class KeptCall(Struct, frozen=True):
    """The call as it was decided, and what policies see beside it when it is decided again."""

    tool: str
    operation: str
    call: HttpCall
    context: bytes
    delegation: bytes


def vault_name(action_id: str) -> str:
    return f"call/{action_id}"


def kept_text(draft: ActionDraft) -> Secret:
    """Raises ValueError for an action without a call."""
    call = draft.call
    if call is None:
        raise ValueError("there is no call to keep")
    document: JsonObject = {
        "v": _VERSION,
        "tool": draft.tool,
        "operation": draft.operation,
        "method": call.method,
        "scheme": call.scheme,
        "host": call.host,
        "port": call.port,
        "path": call.path,
        "query": call.query,
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in call.headers],
        "body": base64.b64encode(call.body).decode(),
        "context": draft.context.decode(),
        "delegation": draft.delegation.decode(),
    }
    return Secret(canonical_bytes(document).decode())


def read_kept(text: Secret) -> KeptCall:
    """Raises UnavailableError for what another version kept."""
    document = parse_strict(text.reveal().encode())
    if not isinstance(document, dict) or document.get("v") != _VERSION:
        raise UnavailableError("the call was stored by another version of Headgate")
    values = {name: value for name, value in document.items() if isinstance(value, str)}
    headers = cast(list[list[str]], document["headers"])
    return KeptCall(
        tool=values["tool"],
        operation=values["operation"],
        call=HttpCall(
            method=values["method"],
            scheme=values["scheme"],
            host=values["host"],
            port=cast(int, document["port"]),
            path=values["path"],
            query=values["query"],
            headers=tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers),
            body=base64.b64decode(values["body"]),
        ),
        context=values["context"].encode(),
        delegation=values["delegation"].encode(),
    )
