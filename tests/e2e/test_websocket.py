"""WebSockets through the gate: the handshake is an action, and so is each message before the server gets it."""

import hashlib
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.e2e.clients import Administrator, Agent
from tests.e2e.socket_client import SocketClient, opened
from tests.e2e.socket_server import SocketServer, serving
from tests.e2e.waiting import wait_for
from tests.labelled import credentials

ALLOWED = """package e2e.sockets

mine if input.tool == "websocket"

allow if mine

deny contains "never this" if {
	mine
	contains(json.marshal(input.params), "forbidden")
}

require_approval contains "a person decides" if {
	mine
	contains(json.marshal(input.params), "\\"ask ")
}

approval := {"hold_seconds": 60}
"""


@pytest.fixture(scope="module")
def server(certificates: tuple[Path, Path]) -> Iterator[SocketServer]:
    with serving(certificates[1]) as started:
        yield started


@pytest.fixture
def allowed(administrator: Administrator) -> Iterator[None]:
    with administrator.policy(ALLOWED, priority=1):
        yield


def sent(administrator: Administrator, path: str) -> list[dict[str, Any]]:
    """The handshake and the messages, oldest first, with what was asked for."""
    return [one | {"params": one["request"]["params"]} for one in administrator.actions_of(path)]


@contextmanager
def socket(agent: Agent, url: str, **options: Any) -> Iterator[SocketClient]:
    proxy = agent.proxy_url.replace("http://", f"http://agent:{agent.key}@")
    with opened(url, proxy=proxy, ssl=agent.trust, **options) as connection:
        yield connection


def closed(connection: SocketClient) -> tuple[int, str]:
    """With what code and reason the gate ended it."""
    with pytest.raises(ConnectionClosed) as ended:
        while True:
            connection.recv(timeout=60)
    frame = ended.value.rcvd
    assert frame is not None
    return frame.code, frame.reason


@pytest.mark.parametrize("compression", ["deflate", None])
def test_messages_pass_both_ways_and_each_is_on_record(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, compression: str | None
) -> None:
    messages: list[str | bytes] = ["hello", '{"method": "subscribe", "id": 1}', b"\x00\xff" * 300, "ü" * 30_000, ""]
    with socket(agent, server.url + path, compression=compression) as connection:
        for message in messages:
            connection.send(message)
        for message in messages:
            is_same = connection.recv(timeout=30) == message
            assert is_same  # without a diff of what is large
    actions = sent(administrator, path)
    assert [one["operation"] for one in actions] == ["connect", *["send"] * len(messages)]
    settled = [administrator.settled(one["id"])["status"] for one in actions]
    assert settled == ["completed"] * len(actions)
    # They are decided side by side, and so recorded in any order.
    asked = [one["params"] for one in actions[1:]]
    assert sorted(one["kind"] for one in asked) == ["binary", "json", "text", "text", "text"]
    assert {"method": "subscribe", "id": 1} in [one["message"] for one in asked]


def test_a_message_to_a_language_model_says_what_is_asked(
    administrator: Administrator, agent: Agent, server: SocketServer
) -> None:
    rules = """package e2e.realtime

realtime if {
	input.tool == "websocket"
	input.http.path == "/v1/realtime"
}

allow if {
	realtime
	input.operation == "connect"
}

allow if {
	realtime
	input.llm.model == "m"
}

deny contains "no payments" if {
	realtime
	"pay" in input.llm.tools
}
"""
    with (
        administrator.policy(rules, priority=1),
        socket(agent, f"{server.url}/v1/realtime?model=m") as connection,
    ):
        connection.send('{"type": "response.create"}')
        assert connection.recv(timeout=30) == '{"type": "response.create"}'
        connection.send('{"type": "session.update", "session": {"tools": [{"type": "function", "name": "pay"}]}}')
        code, reason = closed(connection)
    assert (code, reason.startswith("Denied by policy")) == (1008, True)
    assert not [one for one in server.received if "pay" in str(one)]


def test_a_denied_handshake_opens_nothing(
    administrator: Administrator, agent: Agent, server: SocketServer, path: str
) -> None:
    deny = 'package e2e.sockets\n\ndeny contains "no sockets" if input.tool == "websocket"\n'
    with (
        administrator.policy(deny, priority=1),
        pytest.raises(InvalidStatus) as refused,
        socket(agent, server.url + path),
    ):
        pass
    assert refused.value.response.status_code == 403
    assert b"no sockets" in refused.value.response.body


def test_a_denied_message_closes_and_never_arrives(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str
) -> None:
    with socket(agent, server.url + path) as connection:
        connection.send("before " + path)
        connection.send("forbidden " + path)
        with suppress(ConnectionClosed):  # the gate may have ended it by then
            connection.send("after " + path)
        code, reason = closed(connection)
    denied = [one for one in sent(administrator, path) if one["status"] == "denied"]
    assert (code, reason) == (1008, f"Denied by policy {denied[0]['id']}")
    mine = [one for one in server.received if path in str(one)]
    assert mine == ["before " + path]
    after = [one for one in sent(administrator, path) if "after" in str(one["params"])]
    assert [administrator.settled(one["id"])["status"] for one in after] in (["failed"], [])


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_held_message_delays_those_behind_it(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, decision: str
) -> None:
    with socket(agent, server.url + path, ping_interval=1, ping_timeout=5) as connection:
        connection.send("ask " + path)
        connection.send("behind " + path)
        approval = administrator.pending(path)
        with pytest.raises(TimeoutError):
            connection.recv(timeout=8)  # longer than the client waits for its pongs
        assert not [one for one in server.received if path in str(one)]
        if decision == "approve":
            administrator.approve(approval["id"])
            assert [connection.recv(timeout=30) for _ in range(2)] == ["ask " + path, "behind " + path]
        else:
            administrator.deny(approval["id"], "no")
            assert closed(connection) == (1008, f"Denied by reviewer {approval['id']}")
    expected = ["ask " + path, "behind " + path] if decision == "approve" else []
    assert [one for one in server.received if path in str(one)] == expected


def test_a_held_message_of_a_client_that_left_is_not_sent(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str
) -> None:
    with socket(agent, server.url + path) as connection:
        connection.send("ask " + path)
        approval = administrator.pending(path)
    administrator.approve(approval["id"])
    assert administrator.approval(approval["id"])["status"] == "approved"
    assert not [one for one in server.received if path in str(one)]


_LEAK = "write to maria.keller@example.com"


@pytest.mark.parametrize(
    "message",
    [_LEAK, "x " * 40_000 + _LEAK, _LEAK.encode(), bytes(range(256)) + _LEAK.encode() + b"\0"],
    ids=["short", "long", "text as bytes", "bytes"],
)
def test_what_the_client_sends_is_inspected(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, message: str | bytes
) -> None:
    server.received.clear()
    with no_addresses(administrator, on_match="deny"), socket(agent, server.url + path) as connection:
        connection.send("hello")
        assert connection.recv(timeout=30) == "hello"
        connection.send(message)
        code, reason = closed(connection)
    assert (code, reason.startswith("Denied by policy")) == (1008, True)
    assert server.received == ["hello"]


def test_what_nobody_decided_does_not_pass(agent: Agent, server: SocketServer, allowed: None, path: str) -> None:
    server.closes.clear()
    with socket(agent, server.url + path) as connection:
        connection.ping("a secret")
        connection.send(iter(["in ", "pieces ", path]))
        assert connection.recv(timeout=30) == "in pieces " + path
        connection.close(1000, "a secret")
    assert wait_for(lambda: server.closes, "the server sees the end")[-1] == (1000, "")


def test_a_message_that_is_too_large(agent: Agent, server: SocketServer, allowed: None, path: str) -> None:
    with socket(agent, server.url + path) as connection:
        almost = (1 << 20) - 4096  # with the address, detectors inspect a MiB at most
        connection.send(b"x" * almost)
        assert len(connection.recv(timeout=30)) == almost
        connection.send("x" * ((1 << 20) + 1))
        assert closed(connection) == (1009, "Payload too large")


@contextmanager
def no_addresses(administrator: Administrator, **fields: Any) -> Iterator[None]:
    """A policy about personal data in messages."""
    policy = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6, "scope": {"tools": ["websocket"]}}
    made = administrator.api.post("/admin/nlp-policies", json=policy | fields)
    assert made.status_code == 201, made.text
    try:
        yield
    finally:
        administrator.api.delete(f"/admin/nlp-policies/{made.json()['id']}")


_ANSWERS = {"tools": ["websocket"], "direction": "response"}


def test_what_the_server_sends_is_inspected(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str
) -> None:
    server.answers["leak " + path] = _LEAK
    with (
        no_addresses(administrator, on_match="deny", scope=_ANSWERS),
        socket(agent, server.url + path) as connection,
    ):
        connection.send("hello")
        assert connection.recv(timeout=30) == "hello"
        connection.send("leak " + path)
        code, reason = closed(connection)
    connected = sent(administrator, path)[0]
    assert (code, reason) == (1008, f"Answer withheld {connected['id']}")


def test_a_text_of_the_server_is_masked_and_no_other_message(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str
) -> None:
    server.answers["leak " + path] = _LEAK
    server.answers["bytes " + path] = _LEAK.encode()
    with (
        no_addresses(administrator, on_match="mask", scope=_ANSWERS),
        socket(agent, server.url + path) as connection,
    ):
        connection.send("leak " + path)
        assert connection.recv(timeout=30) == "write to [masked: email]"
        connection.send("bytes " + path)
        code, _ = closed(connection)
    assert code == 1008


def test_a_text_of_the_client_is_masked_and_recorded_as_it_is_sent(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str
) -> None:
    filling = "x " * 40_000
    messages = [_LEAK, json.dumps({"a": [_LEAK]}), filling + _LEAK]
    expected = [one.replace("maria.keller@example.com", "[masked: email]") for one in messages]
    server.received.clear()
    with no_addresses(administrator, on_match="mask"), socket(agent, server.url + path) as connection:
        for message, wanted in zip(messages, expected, strict=True):
            connection.send(message)
            is_masked = connection.recv(timeout=30) == wanted
            assert is_masked  # without a diff of what is large
        connection.send("nothing")
        assert connection.recv(timeout=30) == "nothing"
    assert server.received == [*expected, "nothing"]
    actions = [administrator.get(f"/v1/actions/{one['id']}", expand="all") for one in sent(administrator, path)[1:]]
    assert [one["masked"] for one in actions] == [{"count": 1, "kinds": ["email"]}] * 3 + [None]
    assert [one["policies"][-1]["decision"] for one in actions] == ["mask"] * 3 + ["allow"]
    assert "maria" not in json.dumps(actions)
    long = actions[2]["request"]["params"]["message"]
    assert long["sha256"].endswith(hashlib.sha256(expected[2].encode()).hexdigest())
    assert long["size"] == len(expected[2])
    assert administrator.settled(actions[2]["id"])["status"] == "completed"


@pytest.mark.parametrize("filling", ["", "x " * 5_000], ids=["kept", "made again"])
def test_an_approval_is_for_the_masked_text(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, filling: str
) -> None:
    """A large masked text is not kept while the message waits."""
    with no_addresses(administrator, on_match="mask"), socket(agent, server.url + path) as connection:
        connection.send(f"ask {path} {filling}{_LEAK}")
        pending = administrator.pending(path)
        assert "maria" not in json.dumps(administrator.approval(pending["id"]))
        administrator.approve(pending["id"])
        assert connection.recv(timeout=30) == f"ask {path} {filling}write to [masked: email]"


@pytest.mark.parametrize(
    "message", [_LEAK.encode(), f"{_LEAK}, or {_LEAK.encode().hex()}"], ids=["bytes", "encoded once more"]
)
def test_a_message_that_cannot_be_masked_is_held_as_it_is(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, message: str | bytes
) -> None:
    server.received.clear()
    with no_addresses(administrator, on_match="mask"), socket(agent, server.url + path) as connection:
        connection.send(message)
        pending = administrator.pending(path)
        held = administrator.get(f"/v1/actions/{pending['action_id']}", expand="all")
        assert (held["masked"], "which cannot be masked here" in json.dumps(held)) == (None, True)
        administrator.deny(pending["id"], "no")
        assert closed(connection)[0] == 1008
    assert server.received == []


_SECRET = credentials.github(random.Random(16))  # noqa: S311 - repeatable, not secret
_HALVES = [_SECRET[:9], _SECRET[9:]]
_LETTERS = list(_SECRET)
_CUTS: dict[str, list[str | bytes]] = {
    "halves": [*_HALVES],
    "letters": [*_LETTERS],
    "halves, many messages later": ["hello", *["", "{}"] * 10, *_HALVES],
    "halves, other messages between": [
        json.dumps({"chunk": _HALVES[0]}), *[json.dumps({"type": "typing", "on": n}) for n in range(20)],
        json.dumps({"chunk": _HALVES[1]}),
    ],
    "letters in JSON": [json.dumps({"type": "delta", "n": n, "chunk": one}) for n, one in enumerate(_LETTERS)],
    "ends of sentences": [
        f"This is the first half of the token that you wanted, {_HALVES[0]}",
        f"{_HALVES[1]} is the rest of it.",
    ],
    "bytes": [one.encode() for one in _HALVES],
}  # fmt: skip


@contextmanager
def no_secrets(administrator: Administrator, **scope: Any) -> Iterator[None]:
    policy = {
        "type": "content_safety",
        "model": "secrets",
        "on_match": "deny",
        "scope": {"tools": ["websocket"], **scope},
    }
    with no_addresses(administrator, **policy):
        yield


@pytest.mark.parametrize("cut", _CUTS)
def test_a_secret_that_the_client_cuts_over_messages_does_not_leave(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, cut: str
) -> None:
    """The last piece of it does not; what was sent before cannot be called back."""
    server.received.clear()
    with no_secrets(administrator), socket(agent, server.url + path) as connection:
        for message in _CUTS[cut]:
            connection.send(message)
        code, reason = closed(connection)
    assert (code, reason.startswith("Denied by policy")) == (1008, True)
    assert server.received == _CUTS[cut][: len(server.received)]
    assert len(server.received) < len(_CUTS[cut])


@pytest.mark.parametrize("cut", _CUTS)
def test_a_secret_that_the_server_cuts_over_messages_does_not_arrive(
    administrator: Administrator, agent: Agent, server: SocketServer, allowed: None, path: str, cut: str
) -> None:
    arrived: list[str | bytes] = []
    with no_secrets(administrator, direction="response"), socket(agent, server.url + path) as connection:
        for number, message in enumerate(_CUTS[cut]):
            server.answers[f"{number} {path}"] = message
        with pytest.raises(ConnectionClosed) as ended:
            for number in range(len(_CUTS[cut])):
                connection.send(f"{number} {path}")
                arrived.append(connection.recv(timeout=60))
    frame = ended.value.rcvd
    assert frame is not None
    assert (frame.code, frame.reason.startswith("Answer withheld")) == (1008, True)
    assert arrived == _CUTS[cut][: len(arrived)]


def test_halves_on_two_connections_are_no_secret_of_either_server(
    administrator: Administrator, instance, server: SocketServer, allowed: None, path: str
) -> None:
    """What is joined are messages of one connection, and requests of one agent."""
    agents = [administrator.new_agent(name)["api_key"]["key"] for name in ("one", "other")]
    with no_secrets(administrator), ExitStack() as opened:
        for key, half in zip(agents, _HALVES, strict=True):
            agent = opened.enter_context(closing(Agent(instance, key=key)))
            connection = opened.enter_context(socket(agent, server.url + path))
            connection.send(half)
            assert connection.recv(timeout=30) == half


def test_a_stop_ends_what_is_open(
    administrator: Administrator, instance, server: SocketServer, allowed: None, path: str
) -> None:
    created = administrator.new_agent("talks")
    with (
        closing(Agent(instance, key=created["api_key"]["key"])) as agent,
        socket(agent, server.url + path) as connection,
    ):
        connection.send("before " + path)
        assert connection.recv(timeout=30) == "before " + path
        stop = {"scope": "agent", "target": created["id"], "reason": "a test", "stopped": True}
        assert administrator.api.put("/admin/settings/kill-switch", json=stop).status_code == 200
        connection.send("after " + path)
        code, _ = closed(connection)
    assert code == 1008
    assert [one for one in server.received if path in str(one)] == ["before " + path]


def test_many_sockets_at_once(agent: Agent, server: SocketServer, allowed: None, path: str) -> None:
    def talk(number: int) -> list[str | bytes]:
        with socket(agent, f"{server.url}{path}") as connection:
            for count in range(20):
                connection.send(f"{number} {count}")
            return [connection.recv(timeout=60) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        for number, answers in enumerate(pool.map(talk, range(8))):
            assert answers == [f"{number} {count}" for count in range(20)]
