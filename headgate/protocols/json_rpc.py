"""JSON-RPC over HTTP: the methods that a request calls (JSON-RPC 2.0 Specification, sections 4 and 6).

A request that servers could read in different ways is refused.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.protocols.member_names import all_folded, any_has, refuse_other_spellings, spellings
from headgate.protocols.names import altered_name, fit_name

JSON_RPC_TOOL: Final = "jsonrpc"
SEVERAL: Final = "several"
_MEMBERS: Final = spellings("jsonrpc", "method", "params", "id")
_METHOD_CHARACTERS_MAX: Final = 256
_CALLS_MAX: Final = 100


class RpcCall(Struct, frozen=True):
    """``is_notification``: it has no id, and no answer."""

    method: str
    params: JsonValue
    is_notification: bool


class RpcRequest(Struct, frozen=True):
    """``is_batch``: a list, whose calls a server makes in any order."""

    calls: Sequence[RpcCall]
    is_batch: bool

    @property
    def operation(self) -> str:
        """The method's name, as an operation is written."""
        if self.is_batch:
            return SEVERAL
        method = self.calls[0].method
        return altered_name(method) if method == SEVERAL or method.startswith("unlisted_") else fit_name(method)

    @property
    def facts(self) -> JsonObject:
        """What policies read as ``input.jsonrpc``."""
        return {
            "methods": [one.method for one in self.calls],
            "notifications": sum(one.is_notification for one in self.calls),
            "batch": self.is_batch,
        }


def recognise(value: JsonValue, *, is_named: bool = False) -> RpcRequest | None:
    """The calls in a parsed body. None: it is no request of JSON-RPC. ``is_named``: a catalogue says that it is one, so
    that a member ``jsonrpc`` is not needed.

    Raises AmbiguousRequestError, PayloadTooLargeError.
    """
    if not isinstance(value, list):
        call = _call(value, is_named=is_named)
        return None if call is None else RpcRequest((call,), is_batch=False)
    if len(value) > _CALLS_MAX and any(_call(one, is_named=is_named) for one in value[:_CALLS_MAX]):
        raise PayloadTooLargeError(
            f"the JSON-RPC batch has more than {_CALLS_MAX} calls", details={"field": "body", "max_count": _CALLS_MAX}
        )
    calls = [_call(one, is_named=is_named) for one in value[:_CALLS_MAX]]
    known = [one for one in calls if one is not None]
    if not known:
        return None
    if len(known) != len(calls):
        raise _ambiguous("some members of the batch are not calls, which servers ignore or refuse")
    return RpcRequest(known, is_batch=True)


def _call(value: JsonValue, *, is_named: bool) -> RpcCall | None:
    if not (isinstance(value, dict) and any_has(value, "method")):
        return None
    names = all_folded(value)
    if "method" not in names or not ("jsonrpc" in names or is_named):
        return None
    refuse_other_spellings(value, _MEMBERS, within="JSON-RPC request")
    method, params = value["method"], value.get("params")
    if not isinstance(method, str) or not 0 < len(method) <= _METHOD_CHARACTERS_MAX:
        return None
    return RpcCall(method, params, "id" not in value)


def strings_in(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Each text below ``value`` with the name of its member; depth first."""
    waiting: list[tuple[str, JsonValue]] = [("", value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict):
            waiting.extend(reversed(one.items()))
        elif isinstance(one, list):
            waiting.extend((name, member) for member in reversed(one))


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the JSON-RPC request can be read in more than one way: {reason}", details={"field": "body"}
    )
