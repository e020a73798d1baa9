"""The state of one request and of one client connection.

A request starts refused. It is forwarded only if ``allow`` was called for it, ``refuse`` was not, and the last addon
(``addons.lift``) removed the latch. Both states are attributes of mitmproxy's own objects, outside of
``flow.metadata``: they are found in one dictionary look-up and are never written to a flow file.
"""

import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, cast

from mitmproxy.connection import Client, ConnectionState
from mitmproxy.connection import Connection as Wire
from mitmproxy.http import HTTPFlow, Response
from msgspec import Struct, field

from addons.captured_call import CapturedCall
from addons.inspection import Inspection
from addons.llm_answer import LlmAnswer
from addons.share import Share
from addons.shown_answer import ShownAnswer
from addons.tool_answer import ToolAnswer
from headgate.connections.credential import ShownCertificate
from headgate.connections.echoes import EchoMask
from headgate.connections.model import Connection
from headgate.gate.caller import Caller
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.error_body import error_help_url
from headgate.kernel.errors import DestinationBlockedError, ErrorCode, HeadgateError
from headgate.kernel.wake_signal import WakeSignal
from headgate.organizations.addresses import Address
from headgate.organizations.destinations import PUBLIC_ONLY, DestinationRules
from headgate.protocols.http_call import HttpCall
from headgate.protocols.mcp_exchange import McpExchange

if TYPE_CHECKING:
    from addons.later_messages import LaterMessages
    from addons.socket_messages import SocketMessages

_FLOW: Final = "_headgate_flow"
_CLIENT: Final = "_headgate_client"


class NotLatchedError(RuntimeError):
    """A request, or its client, that never passed the gate's entrance."""


class AlreadyRefusedError(RuntimeError):
    """Somebody tried to allow what somebody else has refused."""


class Stream(Protocol):
    """The part of the HTTP layer that carries one request, as far as addons look at it.

    ``abandoned``: the client has cancelled this request (HTTP/2) or left. ``is_bidirectional``: it is a bidirectional
    streaming call, whose client sends more messages while it is answered.
    """

    abandoned: bool
    is_bidirectional: bool


class Ending(StrEnum):
    COMPLETE = "complete"  # the whole answer arrived
    BROKEN = "broken"  # sent, but no whole answer: what the call did is unknown
    LEFT = "left"  # the client's connection ended while it listened to events: such a stream need not have another end
    NOT_SENT = "not_sent"  # no byte of the request went upstream


class Completion(Struct, frozen=True):
    """How an allowed request ended. ``digest`` (``sha256:…``) and ``size_bytes`` are of the body as it arrived.
    ``inspection``: what policies about content said of it, where any was asked. ``told_failure``: why the
    call failed, where HTTP calls the answer a success and the answer itself does not (a tool of MCP, gRPC)."""

    ending: Ending
    status: int | None = None
    size_bytes: int = 0
    digest: str | None = None
    error: str | None = None
    inspection: JsonObject | None = None
    told_failure: str | None = None


class ClientState(Struct, eq=False):
    """One client connection, from its first byte to its end.

    ``rules`` are the organization's, ``caller`` whose key was shown (set by whoever identifies the client); until then
    nothing private is reached.
    """

    client: Client
    close: Callable[[str], None]
    rules: DestinationRules = PUBLIC_ONLY
    caller: Caller | None = None
    share: Share = field(default_factory=Share)
    """Of whom it takes time, connections and refusals: its address, and its agent once that is known."""
    on_identified: Callable[[Caller], None] | None = None
    """Told whose key was shown; raises UnavailableError where that agent has too many connections."""
    authorized: set[tuple[str, int]] = field(default_factory=set)
    """Host and port of every request that was lifted: nothing else is dialled."""
    reached: dict[tuple[str, int], set[Address]] = field(default_factory=dict)
    """Addresses that are not public and were connected to, by host and port."""
    rechecked: dict[tuple[str, int], DestinationRules] = field(default_factory=dict)
    """The rules that permitted all of these, the last time they were asked."""
    blocked: dict[tuple[str, int], DestinationBlockedError] = field(default_factory=dict)
    buffered_bytes: int = 0
    buffered_for: tuple[str, str] | None = None
    """The organization and agent that these bytes are counted for."""
    head_since: float | None = field(default_factory=time.monotonic)
    """Since when a request's head, or the TLS handshake before it, is incomplete (monotonic seconds); a connection that
    has just been accepted owes its first head. None: nothing is owed, it may stay idle."""
    silent_tunnel: tuple[str, int] | None = None
    """Host and port of a tunnel after its TLS handshake with the client, until the client sends data."""
    unfinished: set["FlowState"] = field(default_factory=set)
    """Requests that are being decided, held or forwarded: a stop gives them time."""
    throttled: frozenset[Wire] = frozenset()
    """Servers of which no more is read until the client has taken what it was sent."""
    inspecting: dict["FlowState", Wire] = field(default_factory=dict)
    """Streams of which a stretch is being inspected, and the servers that they come from: no more is read meanwhile."""
    unthrottled: WakeSignal = field(default_factory=WakeSignal)
    """Wakes who waits when ``throttled`` or ``inspecting`` changes."""

    def identify(self, caller: Caller) -> None:
        """Raises UnavailableError where this agent, or its organization, has as many connections as it may."""
        if self.on_identified is not None:
            self.on_identified(caller)
        self.caller = caller

    def throttle(self, servers: Iterable[Wire]) -> None:
        throttled = frozenset(servers)
        if throttled != self.throttled:
            self.throttled = throttled
            self.unthrottled.wake()

    def is_held_back(self, connection: Wire) -> bool:
        return connection in self.throttled or connection in self.inspecting.values()


class FlowState(Struct, eq=False):
    """One request. Read it; change it through ``allow`` and ``refuse``."""

    client: ClientState
    stream: Stream
    origin_form: bool
    """The request was addressed to the proxy itself (RFC 9112, 3.2.1), not sent through it."""
    tunnelled: bool
    """The request came inside of CONNECT, which is where its host and port are from."""
    request_id: str
    allowed: bool = False
    lifted: bool = False
    refusal: HeadgateError | None = None
    sent_upstream: bool = False
    """Set before the first byte of the request is written to the destination."""
    measured: bool = False
    """Its refusal has been counted."""
    help_url: str | None = None
    """The page about the recorded call, for refusals; set once the call is on record."""
    help_origin: str | None = None
    """The origin of the pages that explain refusals."""
    shown_answer: ShownAnswer | None = None
    """Set before the request is allowed, where a policy asks what agents were shown."""
    socket: "SocketMessages | None" = None
    """What decides about the messages of the WebSocket that the request opens. Set before it is allowed."""
    later_messages: "LaterMessages | None" = None
    """What decides about the later messages of a bidirectional call. Set before the request is allowed."""
    tool_answer: ToolAnswer | None = None
    """Set before the request is allowed, where its answer says in the body whether it succeeded."""
    llm_answer: LlmAnswer | None = None
    """Set before the request is allowed, where a language model answers it."""
    inspection: Inspection | None = None
    """Set before the request is allowed, where policies about content look at its answer."""
    capture: CapturedCall | None = None
    """Set where this request and its answer are captured."""
    connection: Connection | None = None
    """Set before the request is allowed, where it carries a connection's credential."""
    outgoing: HttpCall | None = None
    """What is written to the destination in place of the flow's request, with the credential in it: nobody but the
    stream reads it."""
    echoes: EchoMask | None = None
    shown: ShownCertificate | None = None
    """Set before the request is allowed, where its TLS connection shows a connection's certificate."""
    cancelled: bool = False
    """Its client has said that it does not want the answer any more."""
    waits_for: McpExchange | None = None
    """Set while this call is decided and held, where its client takes other messages before the answer."""
    on_complete: Callable[[Completion], None] | None = None
    end_later_messages: Callable[[], None] | None = None
    """Called when the request has ended, whichever way: from then on no later message is forwarded."""
    on_abandoned: Callable[[], None] | None = None
    """Called when the client leaves or cancels while a hook of this request waits (a held call)."""

    def __repr__(self) -> str:
        """The request's id alone: ``outgoing`` has the credential in it."""
        return f"FlowState({self.request_id!r})"

    def help_for(self, code: ErrorCode) -> str | None:
        """The page about the recorded call, or else about the code."""
        return self.help_url or error_help_url(self.help_origin, code)

    @property
    def connected(self) -> bool:
        """Whether somebody is still waiting for the answer."""
        return self.client.client.state is ConnectionState.OPEN and not self.stream.abandoned and not self.cancelled

    def cancel(self) -> None:
        """The client does not want the answer any more: what is not sent yet never is."""
        self.cancelled = True
        told, self.on_abandoned = self.on_abandoned, None
        if told is not None:
            told()

    def complete(self, completion: Completion) -> None:
        """Tell, exactly once, how the request ended."""
        self.client.unfinished.discard(self)
        if self.end_later_messages is not None:
            self.end_later_messages()
        told, self.on_complete = self.on_complete, None
        if told is not None:
            told(completion)


LATCH: Final = Response.make(
    503,
    b'{"error":{"code":"SERVICE_UNAVAILABLE","message":"the gate did not decide; nothing was forwarded"}}',
    {"content-type": "application/json", "cache-control": "no-store"},
)
"""The answer of a request that nobody has allowed. Shared and compared by identity: never change it."""


def open_client(state: ClientState) -> None:
    vars(state.client)[_CLIENT] = state


def client_state(client: Client) -> ClientState:
    """Raises NotLatchedError for a connection that did not come through the listener."""
    try:
        return cast("ClientState", vars(client)[_CLIENT])
    except KeyError:
        raise NotLatchedError("this client connection did not come through the listener") from None


def open_flow(flow: HTTPFlow, stream: Stream, *, origin_form: bool, tunnelled: bool) -> FlowState:
    """The state of a request that has just begun; made by the HTTP layer before any addon sees it."""
    state = FlowState(client_state(flow.client_conn), stream, origin_form, tunnelled, flow.id)
    vars(flow)[_FLOW] = state
    return state


def flow_state(flow: HTTPFlow) -> FlowState:
    """Raises NotLatchedError for a request that did not come through the gate's HTTP layer."""
    try:
        return cast("FlowState", vars(flow)[_FLOW])
    except KeyError:
        raise NotLatchedError("this request did not come through the gate's HTTP layer") from None


def has_state(flow: HTTPFlow) -> bool:
    """Whether the request came far enough to be told to addons: one without a destination is answered before."""
    return _FLOW in vars(flow)


def is_open(flow: HTTPFlow) -> bool:
    """Whether the request still awaits a decision: every deciding hook returns at once where this is false."""
    return flow.response is LATCH and flow_state(flow).refusal is None


def allow(flow: HTTPFlow, on_complete: Callable[[Completion], None] | None = None) -> None:
    """Say that this request may be forwarded (for CONNECT: that the tunnel may be opened).

    ``on_complete`` is called exactly once, when the request has ended, whichever way. Call this only when the
    decision is durable. Raises AlreadyRefusedError.
    """
    state = flow_state(flow)
    if state.refusal is not None:
        raise AlreadyRefusedError(f"refused already: {state.refusal.message}")
    state.allowed = True
    if on_complete is not None:
        state.on_complete = on_complete
        state.client.unfinished.add(state)


def refuse(flow: HTTPFlow, error: HeadgateError, response: Response) -> None:
    """Answer with ``response`` instead of forwarding. Final: the first refusal stands, and no allow undoes it."""
    state = flow_state(flow)
    state.allowed = False
    # What was raised refers to its frames, and so to all that was read of the call. The flow outlives the answer.
    error.__traceback__ = error.__context__ = error.__cause__ = None
    if state.refusal is None:
        state.refusal = error
        flow.response = response


def answer(flow: HTTPFlow, response: Response) -> None:
    """Answer a request that is for the gate itself: nothing is refused, and nothing goes upstream."""
    flow_state(flow).allowed = False
    flow.response = response
