"""Calls that no catalogue lists: everything that was sent becomes params, and is decided like everything else."""

from types import MappingProxyType
from typing import Final

from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.draft import ActionDraft, Effect, ReadCall, Source, make_draft
from headgate.protocols.headers import without_secrets
from headgate.protocols.names import method_operation

GENERIC_TOOL: Final = "http"

# RFC 9110, section 9.2.1: the safe methods.
_EFFECTS: Final = MappingProxyType(
    {"GET": Effect.READ, "HEAD": Effect.READ, "OPTIONS": Effect.READ, "DELETE": Effect.DESTRUCTIVE}
)


def generic_draft(read_call: ReadCall, body: Body) -> ActionDraft:
    """A call to a host that no catalogue covers."""
    method = read_call.call.method
    return make_draft(
        tool=GENERIC_TOOL,
        operation=method_operation(method),
        params=call_params(read_call, body),
        source=Source.PROXY,
        read_call=read_call,
        effect=_EFFECTS.get(method, Effect.WRITE),
    )


def unlisted_draft(tool: str, read_call: ReadCall, body: Body, *, reads_are_safe: bool) -> ActionDraft:
    """A call to a host that a catalogue covers, at a path that it does not list: that tool, never ``http``.

    Where GET may write too (``reads_are_safe`` is False), nothing is said about its effect.
    """
    method = read_call.call.method
    effect = _EFFECTS.get(method, Effect.WRITE)
    return make_draft(
        tool=tool,
        operation=method_operation(method, "unlisted_"),
        params=call_params(read_call, body),
        source=Source.PROXY,
        read_call=read_call,
        effect=None if effect is Effect.READ and not reads_are_safe else effect,
    )


def call_params(read_call: ReadCall, body: Body) -> JsonObject:
    """Everything that was sent, for a call whose meaning nobody has listed."""
    call = read_call.call
    params: JsonObject = {
        "scheme": call.scheme,
        "host": call.host,
        "port": call.port,
        "path": read_call.path,
        "query": read_call.query,
        "headers": without_secrets(read_call.covered_headers),
    }
    if body.kind is not BodyKind.NONE:
        params["body"] = body.value
    return params
