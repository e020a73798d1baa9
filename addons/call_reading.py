"""An intercepted call as it is read: what is made of its body is bounded, counted, and not kept while the call waits.

Ten kilobytes of gzip may become ten megabytes, and a megabyte of JSON fifty of objects: so what may be read is counted
before it is, and afterwards what came of it, beside the body itself (``proxy.budget``). Large bodies are read in a
thread, one at a time, in turns that are fair between organizations and agents.
"""

import re
from collections.abc import Callable
from typing import Final

from mitmproxy.http import HTTPFlow

from addons.http_call import http_call
from addons.memory_charge import MemoryCharge, Room
from addons.metrics import INTERPRET_SECONDS
from addons.verdict import flow_state
from headgate.gate.caller import Caller
from headgate.gate.candidate import Candidate, ReadAction, Submission, candidate_for, read_action
from headgate.gate.candidate_weight import weight_of
from headgate.kernel.fair_turns import FairTurns
from headgate.kernel.slowness import Slowness
from headgate.kernel.stopwatch import Stopwatch
from headgate.nlp_policies.message_window import ArrivedMessages
from headgate.protocols.body import DECODED_BYTES_MAX
from headgate.protocols.content_coding import decoded_bytes_max
from headgate.protocols.http_call import HttpCall, with_body_of
from headgate.protocols.mcp_exchange import McpId
from headgate.tools.interpret import interpret, is_long_document
from headgate.tools.match import CatalogueIndex

KEPT_BODY_BYTES_MAX: Final = 4 << 10
"""What is read of such a body is kept while its call waits."""
INLINE_BODY_BYTES_MAX: Final = 64 << 10
INLINE_VALUES_MAX: Final = 2_000
"""Half a millisecond."""
INLINE_FIELDS_BYTES_MAX: Final = 512
"""Of Protocol Buffers: half a millisecond at the most, too."""
_CODINGS: Final = frozenset({b"content-encoding", b"grpc-encoding", b"connect-content-encoding"})
_FIELDS: Final = re.compile(rb"application/(?:grpc|connect|proto)", re.IGNORECASE)


class CallReader:
    """Of one process."""

    def __init__(self, catalogue: CatalogueIndex, room: Room, monotonic: Callable[[], float]) -> None:
        self.catalogue = catalogue
        self.room = room
        self.monotonic = monotonic
        self.slowness = Slowness()
        self.turns = FairTurns(1, "the reading of a large body", rests=True)

    def begin(
        self, flow: HTTPFlow, caller: Caller, body: bytes | None = None, arrived: ArrivedMessages | None = None
    ) -> "CallReading":
        """``body``: later messages of the client, read as the call's body; None: the flow's own. ``arrived``: of
        messages, with which the body ends for now."""
        return CallReading(self, flow, caller, body, arrived)


class CallReading:
    """Of one call, from its arrival to its admission or refusal."""

    __slots__ = (
        "_action", "_body", "_caller", "_charge", "_flow", "_is_kept", "_masked_charge", "_reader",
        "_took_milliseconds", "arrived", "candidate",
    )  # fmt: skip

    def __init__(
        self,
        reader: CallReader,
        flow: HTTPFlow,
        caller: Caller,
        body: bytes | None,
        arrived: ArrivedMessages | None,
    ) -> None:
        self._body = body
        self.arrived = arrived
        self._reader = reader
        self._flow = flow
        self._caller = caller
        self._charge: MemoryCharge | None = None
        self._masked_charge: MemoryCharge | None = None
        self._is_kept = False
        self._took_milliseconds = 0.0
        self._action: ReadAction | None = None
        self.candidate: Candidate | None = None

    @property
    def action(self) -> ReadAction:
        if self._action is None:
            raise RuntimeError("a call that nobody has read")
        return self._action

    @property
    def _agent_id(self) -> str:
        return self._caller.identity.agent_id or ""

    @property
    def mcp_id(self) -> McpId | None:
        return None if self._action is None else self._action.mcp_id

    def at_once(self) -> Candidate | None:
        """Of a call without a body, or with a small one. None: ``read`` it. Raises as ``read`` does."""
        call = self._call()
        return None if self._is_large(call) else self._read_inline(call)

    async def read(self) -> Candidate:
        """Raises UnavailableError, where there is no room for it or too many wait; what ``interpret`` raises."""
        call = self._call()
        if not self._is_large(call):
            return self._read_inline(call)
        size = decoded_bytes_max(len(call.body), DECODED_BYTES_MAX) if is_coded(call) else len(call.body)
        try:
            async with self._reader.turns.turn(self._caller.identity.org_id, self._agent_id) as turn:
                self._charge_read(size)
                candidate = await turn.in_thread(self._read, call)
        finally:
            self._note()
        self._charge_read(weight_of(candidate))
        return self._keep(candidate)

    def _call(self) -> HttpCall:
        call = http_call(self._flow)
        return call if self._body is None else with_body_of(call, self._body)

    def _read_inline(self, call: HttpCall) -> Candidate:
        try:
            candidate = self._read(call)
        finally:
            self._note()
        self._is_kept = len(call.body) <= KEPT_BODY_BYTES_MAX
        if not self._is_kept:
            self._charge_read(weight_of(candidate))
        return self._keep(candidate)

    async def read_with_body(self, call: HttpCall, body: bytes) -> Candidate:
        """The call with this body; ``candidate`` stays what was sent. Raises what ``read`` raises."""
        changed = with_body_of(call, body)
        if not self._is_large(changed):
            return self._read(changed)
        async with self._reader.turns.turn(self._caller.identity.org_id, self._agent_id) as turn:
            return await turn.in_thread(self._read, changed)

    def charge_masked(self, size: int) -> None:
        """Counts the bytes of a masked copy, beside the body. Raises UnavailableError."""
        if self._masked_charge is None:
            self._masked_charge = self._new_charge()
        self._masked_charge.charge(size)

    def drop(self) -> None:
        """While the call waits; its body is there to be read again."""
        if not self._is_kept:
            self.end()

    def end(self) -> None:
        self.candidate = None
        if self._charge is not None:
            self._charge.release()
        if self._masked_charge is not None:
            self._masked_charge.release()

    def _is_large(self, call: HttpCall) -> bool:
        """Whether reading it would hold up everybody else for longer than a thread costs."""
        body = call.body
        return is_long_document(call, self._reader.catalogue) or (
            len(body) > 0
            and (
                len(body) > INLINE_BODY_BYTES_MAX
                or is_coded(call)
                or (len(body) > INLINE_FIELDS_BYTES_MAX and has_fields(call))
                or self._reader.slowness.expects(self._agent_id)
                or (len(body) > INLINE_VALUES_MAX and body.count(b",") > INLINE_VALUES_MAX)
            )
        )

    def _read(self, call: HttpCall) -> Candidate:
        began = self._reader.monotonic()
        watch = Stopwatch() if call.body else None
        try:
            draft = interpret(call, self._reader.catalogue)
            INTERPRET_SECONDS.observe(self._reader.monotonic() - began)
            origin = Submission(address=str(self._flow.client_conn.peername[0]))
            return candidate_for(self._caller.identity, draft, origin, self.arrived)
        finally:
            if watch is not None:
                self._took_milliseconds = watch.processor_milliseconds()

    def _note(self) -> None:
        """In the event loop's thread, whether it could be read or not."""
        if self._took_milliseconds:
            self._reader.slowness.note(self._agent_id, self._took_milliseconds)
            self._took_milliseconds = 0.0

    def _keep(self, candidate: Candidate) -> Candidate:
        self.candidate = candidate
        if self._action is None:
            self._action = read_action(candidate)
        return candidate

    def _charge_read(self, size: int) -> None:
        if self._charge is None:
            self._charge = self._new_charge()
        self._charge.charge(size)

    def _new_charge(self) -> MemoryCharge:
        """Made when it is first needed: most calls are small, and are not charged."""
        return MemoryCharge(self._reader.room, flow_state(self._flow).client)


def is_coded(call: HttpCall) -> bool:
    return any(name.lower() in _CODINGS for name, _ in call.headers)


def has_fields(call: HttpCall) -> bool:
    """Of Protocol Buffers, two bytes each at the least."""
    return any(name.lower() == b"content-type" and _FIELDS.match(value) is not None for name, value in call.headers)
