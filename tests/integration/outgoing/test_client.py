"""The outgoing client against receivers that are slow, large, hostile, or somewhere else than they say."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headgate.organizations.destinations import PUBLIC_ONLY, Allowlist, parse_allowlist
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.model import OutgoingError, OutgoingFailure, OutgoingLimits, OutgoingRequest
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from tests.integration.outgoing.receivers import (
    Flood,
    NameServer,
    Receivers,
    answering,
    break_off,
    drip,
    hang,
    receivers,
    write_certificate,
)

_NAME = "receiver.example"


@pytest.fixture
async def world() -> AsyncIterator[Receivers]:
    async with receivers() as made:
        yield made


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("certificates"), _NAME)


def permitting(*hosts: str) -> Allowlist:
    entries = ",".join(f'{{"host":"{host}","private":true}}' for host in hosts)
    return parse_allowlist(f'{{"destinations":[{entries}]}}', None)


def client(names: NameServer | None = None, roots: Path | None = None) -> OutgoingClient:
    return OutgoingClient(trusted_roots(roots), names or NameServer([["127.0.0.1"]]))


async def failure_of(
    request: OutgoingRequest, rules: Allowlist, limits: OutgoingLimits | None = None, **made: object
) -> OutgoingError:
    with pytest.raises(OutgoingError) as raised:
        await client(**made).send(request, rules, limits)  # type: ignore[arg-type]
    return raised.value


async def test_sent_as_it_stands(world: Receivers) -> None:
    receiver = await world.start(answering(201, b"made", "X-Answer: yes"))
    request = OutgoingRequest(
        "POST", f"http://{_NAME}:{receiver.port}/a%2Fb?c=%20", (("X-Given", "1"), ("Content-Type", "text/plain")), b"hi"
    )
    response = await client().send(request, permitting(_NAME))
    assert (response.status, response.body, response.is_truncated) == (201, b"made", False)
    assert response.header("x-answer") == "yes"
    lines = receiver.requests[0].split(b"\r\n")
    assert lines[0] == b"POST /a%2Fb?c=%20 HTTP/1.1"
    assert set(lines[1:-2]) == {
        f"Host: {_NAME}:{receiver.port}".encode(), b"X-Given: 1", b"Content-Type: text/plain", b"User-Agent: headgate",
        b"Accept-Encoding: identity", b"Content-Length: 2", b"Connection: close",
    }  # fmt: skip
    assert lines[-1] == b"hi"


async def test_tls_names_and_verifies_the_host_though_an_address_is_connected_to(
    world: Receivers, certificate: Path
) -> None:
    tls, named = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), []
    tls.load_cert_chain(certificate)
    tls.sni_callback = lambda _socket, name, _context: named.append(name)
    receiver = await world.start(answering(), tls=tls)
    request = OutgoingRequest("GET", f"https://{_NAME}:{receiver.port}/")
    assert (await client(roots=certificate).send(request, permitting(_NAME))).status == 200
    assert named == [_NAME]

    untrusted = await failure_of(request, permitting(_NAME))
    assert (untrusted.failure, untrusted.may_have_been_sent) == (OutgoingFailure.TLS, False)
    assert "self-signed" in untrusted.message
    other = OutgoingRequest("GET", f"https://other.example:{receiver.port}/")
    misnamed = await failure_of(other, permitting("other.example"), roots=certificate)
    assert (misnamed.failure, misnamed.may_have_been_sent) == (OutgoingFailure.TLS, False)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "fd00::1"],
)
async def test_an_address_that_is_not_public_is_not_connected_to(world: Receivers, address: str) -> None:
    receiver = await world.start(answering())
    host = f"[{address}]" if ":" in address else address
    literal = await failure_of(OutgoingRequest("GET", f"http://{host}:{receiver.port}/"), PUBLIC_ONLY)
    named = await failure_of(
        OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), PUBLIC_ONLY, names=NameServer([[address]])
    )
    assert {literal.failure, named.failure} == {OutgoingFailure.BLOCKED}
    assert not literal.may_have_been_sent
    assert address not in named.message
    assert receiver.connections == 0


async def test_metadata_behind_a_name_stays_blocked_though_the_name_is_allowed(world: Receivers) -> None:
    error = await failure_of(
        OutgoingRequest("GET", f"http://{_NAME}/"), permitting(_NAME), names=NameServer([["169.254.169.254"]])
    )
    assert error.failure is OutgoingFailure.BLOCKED
    assert "where a cloud hands this machine's own credentials to whoever asks" in error.message


async def test_numbers_that_the_system_reads_as_loopback_are_judged_as_loopback(world: Receivers) -> None:
    receiver = await world.start(answering())
    for host in ("127.1", "2130706433", "0x7f.1", "localhost"):
        error = await failure_of(
            OutgoingRequest("GET", f"http://{host}:{receiver.port}/"), PUBLIC_ONLY, names=SystemResolver()
        )
        assert error.failure in (OutgoingFailure.BLOCKED, OutgoingFailure.UNRESOLVED), host
    assert receiver.connections == 0


async def test_a_name_is_resolved_once_so_that_rebinding_has_no_second_answer(world: Receivers) -> None:
    receiver = await world.start(answering())
    # 192.0.2.1 would be judged and the loopback address connected to, were the name asked again.
    names = NameServer([["127.0.0.2"], ["127.0.0.1"]])
    error = await failure_of(
        OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), permitting("127.0.0.2"), names=names
    )
    assert error.failure is OutgoingFailure.UNREACHABLE
    assert names.asked == 1
    assert receiver.connections == 0


async def test_of_several_addresses_only_permitted_ones_are_tried_until_one_answers(world: Receivers) -> None:
    receiver = await world.start(answering())
    names = NameServer([["127.0.0.9", "127.0.0.2", "127.0.0.1"]])
    rules = permitting("127.0.0.2", "127.0.0.1")
    response = await client(names).send(OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), rules)
    assert response.status == 200


async def test_a_redirect_is_an_answer_and_not_followed(world: Receivers) -> None:
    private = await world.start(answering())
    receiver = await world.start(answering(302, b"", f"Location: http://127.0.0.1:{private.port}/"))
    response = await client().send(OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), permitting(_NAME))
    assert response.status == 302
    assert private.connections == 0


async def test_a_gigabyte_is_cut_after_the_limit(world: Receivers) -> None:
    flood = Flood(1 << 30)
    receiver = await world.start(flood)
    response = await client().send(
        OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"),
        permitting(_NAME),
        OutgoingLimits(response_max_bytes=100_000),
    )
    assert (response.status, len(response.body), response.is_truncated) == (200, 100_000, True)
    await asyncio.sleep(0.1)
    assert flood.sent < 32 << 20  # what the sockets' buffers take


async def test_a_head_without_end_is_cut(world: Receivers) -> None:
    async def endless_head(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Filler: " + b"x" * 1000 + b"\r\n")
            await writer.drain()

    receiver = await world.start(endless_head)
    error = await failure_of(OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), permitting(_NAME))
    assert (error.failure, error.may_have_been_sent) == (OutgoingFailure.BROKEN, True)


async def test_the_deadline_is_for_everything(world: Receivers) -> None:
    limits = OutgoingLimits(deadline_seconds=0.4)
    hanging = await world.start(hang)
    silent = await failure_of(OutgoingRequest("GET", f"http://{_NAME}:{hanging.port}/"), permitting(_NAME), limits)
    assert (silent.failure, silent.may_have_been_sent, silent.status) == (OutgoingFailure.DEADLINE, True, None)
    dripping = await world.start(drip)
    slow = await failure_of(OutgoingRequest("GET", f"http://{_NAME}:{dripping.port}/"), permitting(_NAME), limits)
    assert (slow.failure, slow.may_have_been_sent, slow.status) == (OutgoingFailure.DEADLINE, True, 200)


async def test_a_name_server_that_hangs_counts_as_no_connection(world: Receivers) -> None:
    error = await failure_of(
        OutgoingRequest("GET", f"http://{_NAME}/"),
        permitting(_NAME),
        OutgoingLimits(connect_seconds=0.1),
        names=NameServer([["127.0.0.1"]], delay_seconds=30),
    )
    assert (error.failure, error.may_have_been_sent) == (OutgoingFailure.CONNECT_TIMEOUT, False)


async def test_a_handshake_that_hangs_counts_as_no_connection(world: Receivers) -> None:
    receiver = await world.start(hang, reads=False)
    error = await failure_of(
        OutgoingRequest("GET", f"https://{_NAME}:{receiver.port}/"),
        permitting(_NAME),
        OutgoingLimits(connect_seconds=0.2),
    )
    assert (error.failure, error.may_have_been_sent) == (OutgoingFailure.CONNECT_TIMEOUT, False)


async def test_what_is_known_of_a_broken_call(world: Receivers) -> None:
    receiver = await world.start(break_off)
    lost = await failure_of(OutgoingRequest("POST", f"http://{_NAME}:{receiver.port}/"), permitting(_NAME))
    assert (lost.failure, lost.may_have_been_sent, lost.status) == (OutgoingFailure.BROKEN, True, None)
    unknown = await failure_of(OutgoingRequest("GET", f"http://{_NAME}/"), permitting(_NAME), names=NameServer([[]]))
    assert (unknown.failure, unknown.may_have_been_sent) == (OutgoingFailure.UNRESOLVED, False)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", (("Host", "other.example"),)),
        ("GET", (("content-length", "5"),)),
        ("GET", (("Transfer-Encoding", "chunked"),)),
        ("GET", (("X-A", "1\r\nX-B: 2"),)),
        ("GET", (("X-A\r\nX-B", "2"),)),
        ("GET", (("X-A", "\u20ac"),)),
        ("GET\r\nX-B: 2", ()),
        ("CONNECT", ()),
    ],
)
async def test_what_would_change_the_message_is_not_sent(
    world: Receivers, method: str, headers: tuple[tuple[str, str], ...]
) -> None:
    receiver = await world.start(answering())
    error = await failure_of(OutgoingRequest(method, f"http://{_NAME}:{receiver.port}/", headers), permitting(_NAME))
    assert (error.failure, error.may_have_been_sent) == (OutgoingFailure.INVALID_REQUEST, False)
    assert receiver.requests == []


async def test_proxies_of_the_environment_are_not_asked(world: Receivers, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, receiver = await world.start(answering(500)), await world.start(answering())
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    response = await client().send(OutgoingRequest("GET", f"http://{_NAME}:{receiver.port}/"), permitting(_NAME))
    assert (response.status, proxy.connections) == (200, 0)
