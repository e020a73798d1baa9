"""An action on its way to a decision. Pure."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import asdict, replace

from headgate.actions.digest import action_digest
from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.agents.model import KeyIdentity
from headgate.connections.choose import ConnectionBook, choose
from headgate.connections.model import Connection
from headgate.connections.placeholders import mentions_placeholder
from headgate.detectors.published_pages import is_published_page
from headgate.kernel.canonical_json import canonical_bytes
from headgate.nlp_policies.message_window import ArrivedMessages
from headgate.protocols.draft import ActionDraft, ReadCall
from headgate.protocols.llm import ModelCall
from headgate.protocols.mcp_exchange import McpExchange, McpId
from headgate.protocols.websocket import WEBSOCKET_TOOL


class Submission(Struct, frozen=True):
    """What only an explicit submission carries: its idempotency key, with its body's digest, and its parent.
    ``address``: where the call came from, for the record."""

    idempotency_key: str | None = None
    request_digest: bytes | None = None
    parent_action_id: str | None = None
    address: str | None = None


NO_SUBMISSION = Submission()


class Candidate(Struct, frozen=True):
    """An action on its way to a decision: everything about it that no policy changes, made once."""

    agent_id: str
    draft: ActionDraft
    digest: bytes
    rego_input: bytes
    request: bytes
    submission: Submission
    asks_for_connection: bool = False
    """It mentions a placeholder."""
    connection: Connection | None = None
    """The connection whose credential it carries, in the generation of its decision (``with_connection``)."""
    arrived: ArrivedMessages | None = None
    """Of messages: their place among the others that the client has sent on this connection."""


class BoundCandidate(Candidate, frozen=True):
    """With the connection that its call uses in one generation: policies, digest and record cover it. What is decided
    is bound; mypy finds a way in that forgets this step. A changed copy is bound too: never change ``connection`` in
    it."""


def bound(candidate: Candidate) -> BoundCandidate:
    """Marks a candidate as bound: it needs no connection, or already has it."""
    return BoundCandidate(**asdict(candidate))


class ReadAction(Struct, frozen=True):
    """What is still needed of an intercepted call when its params are not: while it waits, and while it is answered.
    ``host`` is empty where no call is made."""

    agent_id: str
    tool: str
    operation: str
    host: str
    mcp: McpExchange | None
    expected_status: Callable[[int], bool]
    handshake: ReadCall | None = None
    """Of a WebSocket: its messages are decided with its address."""
    model: ModelCall | None = None
    """The language model that is asked."""
    is_published_page: bool = False
    """Whether only its publisher writes what answers (``detectors.published_pages``)."""

    @property
    def mcp_id(self) -> McpId | None:
        """What an answer in JSON-RPC has to carry; None: it is answered in HTTP's own form."""
        return None if self.mcp is None else self.mcp.request_id


def read_action(candidate: Candidate) -> ReadAction:
    draft = candidate.draft
    call = draft.call
    host = "" if call is None else call.host
    published = call is not None and is_published_page(call.method, call.scheme, call.host, call.path, call.query)
    handshake = draft.read_call if draft.tool == WEBSOCKET_TOOL else None
    return ReadAction(
        candidate.agent_id,
        draft.tool,
        draft.operation,
        host,
        draft.mcp,
        draft.expected_status,
        handshake,
        draft.model,
        published,
    )


def candidate_for(
    identity: KeyIdentity,
    draft: ActionDraft,
    submission: Submission = NO_SUBMISSION,
    arrived: ArrivedMessages | None = None,
) -> Candidate:
    """The action as this agent's. Raises ValidationError where it cannot be canonical."""
    if identity.agent_id is None:
        raise ValueError("only an agent's key calls")
    return Candidate(
        agent_id=identity.agent_id,
        draft=draft,
        digest=action_digest(draft, org_id=identity.org_id, agent_id=identity.agent_id),
        rego_input=rego_input(draft, agent_id=identity.agent_id, agent_name=identity.agent_name or ""),
        request=recorded_request(draft),
        submission=submission,
        asks_for_connection=mentions_placeholder(draft),
        arrived=arrived,
    )


def with_connection(candidate: Candidate, book: ConnectionBook, org_id: str) -> BoundCandidate:
    """``candidate`` with the connection of this generation that its call uses; itself where it uses none.

    Raises NoConnectionError, BrokenConnectionError.
    """
    if not book and not candidate.asks_for_connection:
        return bound(candidate)
    draft = candidate.draft
    connection = choose(book, draft, candidate.agent_id, asks=candidate.asks_for_connection)
    if connection is None:
        return bound(candidate)
    member = _member(connection)
    with_it = replace(
        candidate,
        connection=connection,
        digest=action_digest(draft, org_id=org_id, agent_id=candidate.agent_id, connection_id=connection.covered),
        rego_input=candidate.rego_input[:-1] + b"," + member + b"}",
        # The first member in canonical order: all others sort after it.
        request=b"{" + member + b"," + candidate.request[1:] if candidate.request else b"",
    )
    return bound(with_it)


def _member(connection: Connection) -> bytes:
    return b'"connection":' + canonical_bytes(connection.shown())
