"""The later messages of a call of gRPC: what is decided of them, what they count as, and what a decision is worth after
the call has changed. The gate is a double; tests/e2e/test_grpc.py has the real one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.http import Headers, HTTPFlow, Request

from addons.call_reading import CallReader
from addons.client_messages import MessageGate
from addons.later_messages import LaterMessages
from addons.verdict import ClientState, open_client, open_flow
from headgate.connections.errors import NoConnectionError
from headgate.gate.admitted import Admitted
from headgate.gate.caller import Caller
from headgate.gate.finish_execution import ExecutionOutcome
from headgate.gate.held_call import HeldCall, Pending
from headgate.gate.masking import NOTHING_TO_MASK, Masking
from headgate.gate.refusals import ClientGoneError
from headgate.kernel.errors import RateLimitedError, UnavailableError
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.message_window import MessageWindow
from headgate.ratelimits.classes import RateClass
from headgate.ratelimits.gcra import Quota
from headgate.ratelimits.local import LocalLimiter
from headgate.tools.load import load_catalogues
from tests.unit.gate.identities import ROBOT

NOW = datetime(2026, 11, 29, tzinfo=UTC)
FRAMES = b"\0\0\0\0\7\n\x05hello"
APPROVAL = Pending("apr_1", "act_1", NOW, ())


class Stream:
    abandoned = False
    is_bidirectional = True


@dataclass
class Room:
    used_bytes: int = 0

    def reserve(self, client: ClientState, size: int) -> bool:
        self.used_bytes += size
        return True

    def release(self, client: ClientState, size: int) -> None:
        self.used_bytes -= size


@dataclass
class Gate:
    """Admits each call, for ``connection``. ``leaves``: the client, while it is held."""

    connection: Any = None
    failure: Exception | None = None
    leaves: bool = False
    masking: Masking = NOTHING_TO_MASK
    messages: LaterMessages | None = None
    params: list[Any] = field(default_factory=list)
    outcomes: list[ExecutionOutcome] = field(default_factory=list)

    async def admit(self, caller: Caller, reading: Any, held: HeldCall, bind: Any) -> Admitted:
        candidate = await reading.read()
        self.params.append(candidate.draft.params)
        if self.failure is not None:
            raise self.failure
        held.connection, held.masking = self.connection, self.masking
        if self.leaves and self.messages is not None:
            held.pending = APPROVAL
            self.messages.leave()
        return Admitted("org_1", "agt_1", None, "act_1", "exe_1", None, NOW)

    def finish(self, admitted: Admitted, outcome: ExecutionOutcome) -> None:
        self.outcomes.append(outcome)


def messages(gate: Gate, connection: Any = None, limiter: LocalLimiter | None = None) -> tuple[LaterMessages, Room]:
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), state=ConnectionState.OPEN)
    flow = HTTPFlow(client, Server(address=None))
    headers = Headers([(b"content-type", b"application/grpc")])
    flow.request = Request(
        "a.test", 443, b"POST", b"https", b"", b"/e.Echo/Chat", b"HTTP/2.0", headers, b"", None, 0, 0
    )
    open_client(ClientState(client, lambda reason: None))
    open_flow(flow, Stream(), origin_form=False, tunnelled=True)
    room = Room()
    decides = cast("Any", gate)
    message_gate = MessageGate(
        decides,
        decides,
        limiter,
        lambda: NOW,
        Caller(Secret("a key"), ROBOT),
        lambda _, candidate: cast("Any", candidate),
    )
    gate.messages = LaterMessages(
        message_gate, CallReader(load_catalogues(), room, lambda: 0.0), flow, connection, MessageWindow()
    )
    return gate.messages, room


def covering(covered: str) -> Any:
    """A connection, as far as a message asks for it."""
    return SimpleNamespace(covered=covered)


async def test_the_messages_are_the_body_of_the_call() -> None:
    gate = Gate()
    later, room = messages(gate)
    message = await later.decide(FRAMES)
    assert (message.admitted.action_id, message.content) == ("act_1", FRAMES)
    assert [one["messages"][0]["1"][0]["text"] for one in gate.params] == ["hello"]
    assert room.used_bytes == 0


async def test_what_was_admitted_in_their_place_is_forwarded() -> None:
    later, _ = messages(Gate(masking=Masking(b"masked", is_complete=True)))
    assert (await later.decide(FRAMES)).content == b"masked"


@pytest.mark.parametrize(
    ("at_first", "now", "goes"),
    [
        (None, None, True),
        (covering("con_1"), covering("con_1"), True),
        (covering("con_1"), covering("con_1 2026-11-29T00:00:00Z"), False),
        (covering("con_1"), covering("con_2"), False),
        (covering("con_1"), None, False),
        (None, covering("con_1"), False),
    ],
    ids=["none", "the same", "another account", "another connection", "no longer one", "one by now"],
)
async def test_messages_go_only_with_the_credential_that_their_decision_covers(
    at_first: Any, now: Any, goes: bool
) -> None:
    """The credential went with the head."""
    gate = Gate(connection=now)
    later, room = messages(gate, at_first)
    if goes:
        await later.decide(FRAMES)
        assert not gate.outcomes
    else:
        with pytest.raises(NoConnectionError, match="has changed"):
            await later.decide(FRAMES)
        assert [one.nothing_sent for one in gate.outcomes] == [True]
    assert room.used_bytes == 0


async def test_messages_count_against_the_quota() -> None:
    gate = Gate()
    later, _ = messages(gate, limiter=LocalLimiter({RateClass.PROXY: Quota(1, 60)}, clock_us=lambda: 0))
    await later.decide(FRAMES)
    with pytest.raises(RateLimitedError):
        await later.decide(FRAMES)
    assert len(gate.params) == 1


async def test_what_was_approved_after_its_client_left_is_not_sent() -> None:
    gate = Gate(leaves=True)
    later, room = messages(gate)
    with pytest.raises(ClientGoneError):
        await later.decide(FRAMES)
    assert [one.nothing_sent for one in gate.outcomes] == [True]
    assert room.used_bytes == 0


async def test_of_messages_whose_decision_fails_nothing_stays_charged() -> None:
    later, room = messages(Gate(failure=UnavailableError("no database")))
    with pytest.raises(UnavailableError):
        await later.decide(FRAMES * 1_000)
    assert room.used_bytes == 0
