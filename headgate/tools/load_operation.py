"""The members of an entry that name an operation and say what it does: all that a list of operations shows."""

import re
from collections.abc import Sequence
from typing import Final

from headgate.configuration.yaml_document import Section
from headgate.kernel.call_name import fits
from headgate.protocols.draft import Effect
from headgate.tools.model import SEVERAL, Protocol

_METHOD: Final = re.compile(r"[A-Z]+")
_MCP_METHODS: Final = ("POST", "GET", "DELETE")
_GRAPHQL_METHODS: Final = ("POST", "GET")
"""The first is how Headgate calls; a server that runs mutations by GET must not be a way around a policy."""


def read_protocol(entry: Section) -> Protocol:
    return Protocol(read_choice(entry, "protocol", tuple(Protocol), Protocol.REST))


def read_operation(entry: Section) -> str:
    """Of an entry of REST or GraphQL: each message of MCP names its own. Raises ValidationError."""
    operation = read_name(entry, "operation")
    if operation == SEVERAL:
        raise entry.fail("operation", f"{SEVERAL} is what a GraphQL document with several root fields is")
    if operation.startswith(("unlisted_", "mcp_")):
        raise entry.fail("operation", f"{operation} begins like an operation that the gate makes itself")
    return operation


def read_effect(entry: Section) -> Effect:
    """Raises ValidationError."""
    return Effect(read_choice(entry, "effect", tuple(Effect), None))


def read_methods(entry: Section, protocol: Protocol) -> Sequence[str]:
    """Of the calls that the entry covers. Raises ValidationError."""
    if protocol is Protocol.MCP:
        return _MCP_METHODS
    if protocol is Protocol.GRAPHQL:
        return _GRAPHQL_METHODS
    methods = entry.strings("method")
    if not methods:
        raise entry.fail("method", "at least one method is required")
    for method in methods:
        if _METHOD.fullmatch(method) is None:
            raise entry.fail("method", f"{method!r} is not a method in upper case")
        if method == "HEAD":
            raise entry.fail("method", "HEAD is what GET is (RFC 9110, section 9.3.2): list GET")
    return methods


def read_sent_method(send: Section, methods: Sequence[str], protocol: Protocol, effect: Effect) -> str:
    """How Headgate makes the call itself. ``send``: the entry's member of this name. Raises ValidationError."""
    possible = methods[:1] if protocol is Protocol.GRAPHQL else methods
    method = send.text("method", _usual_method(possible, effect))
    if method not in possible:
        raise send.fail("method", f"{method} is not a method of this entry")
    return method


def _usual_method(methods: Sequence[str], effect: Effect) -> str:
    """Where an API takes several: GET reads, and nothing else does."""
    preferred = [one for one in methods if (one == "GET") == (effect is Effect.READ)]
    return (preferred or list(methods))[0]


def read_name(section: Section, key: str) -> str:
    """Raises ValidationError."""
    name = section.text(key)
    if not fits(name):
        raise section.fail(key, f"{name!r} does not match ^[a-z][a-z0-9_]*$, 1 to 64 characters")
    return name


def read_choice(section: Section, key: str, choices: Sequence[str], default: str | None) -> str:
    """Raises ValidationError."""
    value = section.text(key, default)
    if value not in choices:
        raise section.fail(key, f"{value!r} is not one of {', '.join(choices)}")
    return value
