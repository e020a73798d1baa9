"""One request, one verdict: refused is final, and its end is told once."""

import json

import pytest
from mitmproxy.connection import Client, ConnectionState, Server
from mitmproxy.http import HTTPFlow, Request, Response

from addons.latch import LATCHED_CONNECTION, Latch
from addons.lift import Lift
from addons.refuse import refuse_with
from addons.verdict import (
    LATCH,
    AlreadyRefusedError,
    ClientState,
    Completion,
    Ending,
    NotLatchedError,
    allow,
    answer,
    client_state,
    flow_state,
    is_open,
    open_client,
    open_flow,
)
from headgate.kernel.errors import AmbiguousRequestError, ErrorCode, UnavailableError
from headgate.protocols.http_call import HttpCall


class Stream:
    abandoned = False


@pytest.fixture
def bare() -> HTTPFlow:
    """A flow that never passed the gate's entrance."""
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), state=ConnectionState.OPEN)
    flow = HTTPFlow(client, Server(address=None))
    flow.request = Request.make("GET", "http://example.com/")
    return flow


@pytest.fixture
def flow(bare) -> HTTPFlow:
    open_client(ClientState(bare.client_conn, lambda reason: None))
    open_flow(bare, Stream(), origin_form=False, tunnelled=False)
    Latch().requestheaders(bare)
    return bare


def test_what_did_not_come_through_the_entrance(bare) -> None:
    for look in (
        lambda: flow_state(bare),
        lambda: client_state(bare.client_conn),
        lambda: Latch().requestheaders(bare),
    ):
        with pytest.raises(NotLatchedError):
            look()


def test_a_refusal_names_the_page_of_the_call_or_else_of_its_code(bare) -> None:
    open_client(ClientState(bare.client_conn, lambda reason: None))
    open_flow(bare, Stream(), origin_form=False, tunnelled=False)
    Latch("https://gate.example.com").requestheaders(bare)
    refuse_with(bare, AmbiguousRequestError("two readings"))
    assert bare.response is not None
    details = json.loads(bare.response.content)["error"]["details"]
    assert details == {"help_url": "https://gate.example.com/errors/REQUEST_AMBIGUOUS"}
    flow_state(bare).help_url = "https://gate.example.com/calls/act_1"
    assert flow_state(bare).help_for(ErrorCode.ACTION_DENIED) == "https://gate.example.com/calls/act_1"


def test_everything_starts_refused(flow) -> None:
    assert flow.response is LATCH
    assert is_open(flow)
    assert LATCH.status_code == 503


def test_only_what_was_allowed_is_lifted(flow) -> None:
    allow(flow)
    Lift().request(flow)
    state = flow_state(flow)
    assert flow.response is None
    assert state.lifted
    assert state.client.authorized == {("example.com", 80)}


def test_a_tunnel_authorizes_no_dial(flow) -> None:
    allow(flow)
    Lift().http_connect(flow)
    assert flow.response is None
    assert flow_state(flow).client.authorized == set()


def test_what_nobody_decided_is_refused(flow) -> None:
    Lift().request(flow)
    assert flow.response is not None and flow.response is not LATCH
    assert flow.response.status_code == 503
    assert not flow_state(flow).lifted


def test_the_first_refusal_stands(flow) -> None:
    first, second = UnavailableError("first"), UnavailableError("second")
    allow(flow)
    refuse_with(flow, first)
    refuse_with(flow, second)
    with pytest.raises(AlreadyRefusedError):
        allow(flow)
    Lift().request(flow)
    assert flow_state(flow).refusal is first
    assert flow.response is not None and b"first" in (flow.response.raw_content or b"")
    assert not is_open(flow)


def test_a_refusal_does_not_keep_what_was_read_of_the_call(flow) -> None:
    """Its traceback refers to frames with the parsed body; the flow lives until the collector finds it."""
    try:
        try:
            raise ValueError("of the parser")
        except ValueError as cause:
            raise UnavailableError("first") from cause
    except UnavailableError as error:
        refuse_with(flow, error)
    kept = flow_state(flow).refusal
    assert kept is not None
    assert (kept.__traceback__, kept.__context__, kept.__cause__) == (None, None, None)


def test_a_response_of_somebody_else_stands(flow) -> None:
    allow(flow)
    flow.response = Response.make(418)
    Lift().request(flow)
    assert flow.response.status_code == 418
    assert not flow_state(flow).lifted


def test_an_answer_of_the_gates_own(flow) -> None:
    answer(flow, Response.make(200, b"pem"))
    Lift().request(flow)
    assert flow.response is not None and flow.response.status_code == 200
    assert flow_state(flow).refusal is None and not is_open(flow)


def test_the_end_is_told_once(flow) -> None:
    told: list[Completion] = []
    allow(flow, told.append)
    state = flow_state(flow)
    assert state.client.unfinished == {state}
    state.complete(Completion(Ending.COMPLETE, 200))
    state.complete(Completion(Ending.BROKEN))
    assert [completion.ending for completion in told] == [Ending.COMPLETE]
    assert state.client.unfinished == set()


@pytest.mark.parametrize("state", [ConnectionState.CLOSED, ConnectionState.CAN_READ, ConnectionState.CAN_WRITE])
def test_connected(flow, state) -> None:
    assert flow_state(flow).connected
    flow.client_conn.state = state
    assert not flow_state(flow).connected


def test_no_credential_is_shown(flow) -> None:
    state = flow_state(flow)
    state.outgoing = HttpCall("GET", "https", "example.com", 443, "/", "", ((b"authorization", b"Bearer hidden"),), b"")
    assert "hidden" in repr(state.outgoing)
    assert repr(state) == f"FlowState({state.request_id!r})"


def test_an_error_with_the_latchs_text_is_not_lifted(flow) -> None:
    class Data:
        client = flow.client_conn
        server = Server(address=("example.com", 80))

    Latch().server_connect(Data)
    assert Data.server.error is LATCHED_CONNECTION
    Lift().server_connect(Data)  # no dial was permitted
    assert Data.server.error is LATCHED_CONNECTION
