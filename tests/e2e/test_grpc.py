"""The gRPC library through the gate: what passes, and in what form a refusal reaches the program."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from tests.e2e.clients import Administrator, Agent
from tests.e2e.test_kill_switch import stop
from tests.free_port import free_port
from tests.labelled import credentials

ALLOWED = """package e2e.grpc

allow if startswith(input.http.path, "/tests.Echo/")

deny contains "never this" if input.http.path == "/tests.Echo/Denied"
"""
HELD = """package e2e.grpc

require_approval contains "a person decides" if startswith(input.http.path, "/tests.Echo/")

approval := {"hold_seconds": 0}
"""
BY_MESSAGE = """package e2e.grpc

allow if {{
	input.grpc.service == "tests.Echo"
	input.grpc.unread == null
}}

deny contains "unread" if input.grpc.unread != null

deny contains "not this" if {{
	some message in input.params.messages
	some field in message["1"]
	field.text == "{text}"
}}
"""
HELD_BY_MESSAGE = (
    BY_MESSAGE.format(text="never")
    + """
require_approval contains "a person decides" if input.params.messages[_]["1"][_].text == "pay"

approval := {"hold_seconds": 60}
"""
)
CLIENT = """
import queue
import sys

import grpc

channel = grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials())
try:
    method, said = sys.argv[2], sys.argv[3].encode()
    if method == "Stream":
        print(b" ".join(channel.unary_stream("/tests.Echo/Stream")(said, timeout=30)).decode())
    elif method in ("Chat", "Talk"):
        to_say, rest = queue.Queue(), [*said.split(b"|"), None]
        to_say.put(rest.pop(0))
        chat = channel.stream_stream("/tests.Echo/" + method)
        for answer in chat(iter(to_say.get, None), timeout=float(sys.argv[4])):
            print(answer)
            to_say.put(rest.pop(0))
    else:
        print(channel.unary_unary("/tests.Echo/" + method)(said, timeout=float(sys.argv[4])).decode())
except grpc.RpcError as error:
    trailers = {name: value for name, value in error.trailing_metadata()}
    print(error.code().name, error.details(), trailers.get("grpc-status-details-bin", b""))
"""


def _missing(said: bytes, context: grpc.ServicerContext) -> bytes:
    context.abort(grpc.StatusCode.NOT_FOUND, "nothing there")


class _Echo(grpc.GenericRpcHandler):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = handler_call_details.method
        self.calls.append(method)
        if method.endswith("/Missing"):
            return grpc.unary_unary_rpc_method_handler(_missing)
        if method.endswith(("/Chat", "/Talk")):
            return grpc.stream_stream_rpc_method_handler(lambda said, _: said)
        if method.endswith("/Stream"):
            return grpc.unary_stream_rpc_method_handler(lambda said, _: iter([said] * 3))
        return grpc.unary_unary_rpc_method_handler(lambda said, _: said)


@pytest.fixture(scope="module")
def server(certificates: tuple[Path, Path]) -> Iterator[tuple[str, _Echo]]:
    pem = certificates[1].read_bytes()
    echo, started, port = _Echo(), grpc.server(futures.ThreadPoolExecutor(8)), free_port()
    started.add_generic_rpc_handlers((echo,))
    started.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([(pem, pem)]))
    started.start()
    yield f"127.0.0.1:{port}", echo
    started.stop(None).wait()


@pytest.fixture
def said(instance, agent: Agent, server: tuple[str, _Echo]):
    """What the program prints that makes a call, with the environment of an agent."""
    variables = dict(
        line.removeprefix("export ").split("=", 1) for line in instance.command("env").splitlines() if "=" in line
    )
    environment = {name: value.strip("'\"") for name, value in variables.items()}

    def call(method: str, message: str = "hello", seconds: int = 30) -> str:
        command = [sys.executable, "-c", CLIENT, server[0], method, message, str(seconds)]
        return subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    return call


def test_what_is_allowed_passes(administrator: Administrator, said, server: tuple[str, _Echo]) -> None:
    with administrator.policy(ALLOWED, priority=1):
        assert said("Unary") == "hello"
        assert said("Stream") == "hello hello hello"


def test_a_call_that_fails_is_recorded_as_failed(administrator: Administrator, said) -> None:
    with administrator.policy(ALLOWED, priority=1):
        assert said("Missing").startswith("NOT_FOUND nothing there")
    [action] = administrator.actions_of("/tests.Echo/Missing")
    settled = administrator.settled(action["id"])
    assert (settled["status"], settled["execution"]["error"]) == ("failed", "the server answered gRPC status 5")


def test_a_denied_call_says_why(administrator: Administrator, said, server: tuple[str, _Echo]) -> None:
    with administrator.policy(ALLOWED, priority=1):
        told = said("Denied")
    assert told.startswith("PERMISSION_DENIED Denied by policy act_")
    assert "never this" in told
    assert "type.googleapis.com/google.rpc.ErrorInfo" in told
    assert "/tests.Echo/Denied" not in server[1].calls


def test_a_policy_reads_the_message(administrator: Administrator, said, server: tuple[str, _Echo]) -> None:
    """``0a 06`` begins field 1, a text of six bytes."""
    denies = BY_MESSAGE.format(text="secret")
    with administrator.policy(denies, priority=1):
        assert said("Read", "\n\x06public").endswith("public")
        assert said("Read", "\n\x06secret").startswith("PERMISSION_DENIED")
        assert said("Read", "no message").startswith("PERMISSION_DENIED")
    assert server[1].calls.count("/tests.Echo/Read") == 1
    [*_, action] = administrator.actions_of("/tests.Echo/Read")
    assert action["tool"] == "grpc"


def test_a_held_call_and_its_retry_ask_once(administrator: Administrator, said, server: tuple[str, _Echo]) -> None:
    """Each retry has another deadline (grpc-timeout)."""
    with administrator.policy(HELD, priority=1):
        told = said("Held", "once")
        assert told.startswith("UNAVAILABLE Held for approval apr_")
        approval_id = told.split()[4].rstrip(":")
        assert said("Held", "once").split()[4].rstrip(":") == approval_id
        administrator.approve(approval_id)
        assert said("Held", "once") == "once"


def test_each_message_of_a_bidirectional_call_is_decided(administrator: Administrator, said) -> None:
    """Its client waits for each answer before it sends the next message."""
    with administrator.policy(BY_MESSAGE.format(text="secret"), priority=1):
        assert said("Chat", "\n\x03one|\n\x03two").split() == [r"b'\n\x03one'", r"b'\n\x03two'"]
        answered, refusal = said("Chat", "\n\x03one|\n\x06secret|\n\x03two").split("\n")
    assert answered == r"b'\n\x03one'"
    assert refusal.startswith("PERMISSION_DENIED Denied by policy act_")
    assert "not this" in refusal
    actions = administrator.actions_of("/tests.Echo/Chat")
    denied = [one["id"] for one in actions if one["status"] == "denied"]
    ended = sorted(administrator.settled(one["id"])["status"] for one in actions if one["id"] not in denied)
    assert (len(denied), ended) == (1, ["completed", "completed", "failed"])


def test_a_secret_that_is_cut_over_messages_does_not_leave(
    administrator: Administrator, said, server: tuple[str, _Echo]
) -> None:
    """Each message has two letters of it. What was sent before cannot be called back."""
    secret = credentials.github(random.Random(16))  # noqa: S311 - repeatable, not secret
    pieces = [f"\n\x02{secret[at : at + 2]}" for at in range(0, len(secret), 2)]
    policy = {
        "name": "No secrets",
        "type": "content_safety",
        "model": "secrets",
        "on_match": "deny",
        "scope": {"tools": ["grpc"]},
    }
    with administrator.policy(BY_MESSAGE.format(text="never"), priority=1):
        made = administrator.api.post("/admin/nlp-policies", json=policy)
        assert made.status_code == 201, made.text
        try:
            *answered, refusal = said("Chat", "|".join(pieces), 50).split("\n")
        finally:
            administrator.api.delete(f"/admin/nlp-policies/{made.json()['id']}")
    assert len(answered) == len(pieces) - 1
    assert refusal.startswith("PERMISSION_DENIED Denied by policy act_")


def test_a_bidirectional_call_goes_on_when_its_message_is_approved(administrator: Administrator, said) -> None:
    with administrator.policy(HELD_BY_MESSAGE, priority=1), futures.ThreadPoolExecutor(1) as pool:
        told = pool.submit(said, "Talk", "\n\x03one|\n\x03pay", 60)
        administrator.approve(administrator.pending("/tests.Echo/Talk")["id"])
        assert told.result().split() == [r"b'\n\x03one'", r"b'\n\x03pay'"]


def test_a_stop_ends_a_bidirectional_call(administrator: Administrator, said) -> None:
    with administrator.policy(HELD_BY_MESSAGE, priority=1), futures.ThreadPoolExecutor(1) as pool:
        told = pool.submit(said, "Talk", "\n\x03one|\n\x03pay", 60)
        administrator.pending("/tests.Echo/Talk")
        stop(administrator, stopped=True)
        try:
            answered, refusal = told.result().splitlines()
        finally:
            stop(administrator, stopped=False)
    assert answered == r"b'\n\x03one'"
    assert refusal.startswith("PERMISSION_DENIED Denied by policy act_")
    assert "is stopped: an incident" in refusal


def test_a_hold_ends_before_the_clients_deadline(administrator: Administrator, said) -> None:
    held = HELD.replace('"hold_seconds": 0', '"hold_seconds": 60')
    with administrator.policy(held, priority=1):
        assert said("Late", "once", 6).startswith("UNAVAILABLE Held for approval apr_")
