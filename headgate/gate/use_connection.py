"""Which connection an action uses is part of it: policies see it, the record says it, and an approval covers it."""

from dataclasses import replace

from headgate.actions.digest import action_digest
from headgate.connections.choose import ConnectionBook, choose
from headgate.connections.model import Connection
from headgate.gate.decide_action import Candidate
from headgate.kernel.canonical_json import canonical_bytes


def with_connection(candidate: Candidate, book: ConnectionBook, org_id: str) -> Candidate:
    """``candidate`` with the connection of this generation that its call uses; itself where it uses none.

    Raises NoConnectionError, BrokenConnectionError.
    """
    if not book and not candidate.asks_for_connection:
        return candidate
    draft = candidate.draft
    connection = choose(book, draft, candidate.agent_id, asks=candidate.asks_for_connection)
    if connection is None:
        return candidate
    member = _member(connection)
    return replace(
        candidate,
        connection=connection,
        digest=action_digest(draft, org_id=org_id, agent_id=candidate.agent_id, connection_id=connection.covered),
        rego_input=input_with(candidate.rego_input, connection),
        # The first member in canonical order: all others sort after it.
        request=b"{" + member + b"," + candidate.request[1:] if candidate.request else b"",
    )


def input_with(rego_input: bytes, connection: Connection) -> bytes:
    """What policies read of the same action with this connection."""
    return rego_input[:-1] + b"," + _member(connection) + b"}"


def _member(connection: Connection) -> bytes:
    return b'"connection":' + canonical_bytes(connection.shown())
