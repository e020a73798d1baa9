"""Outages end when they end: every way to call out, against a server that fails in every way, with crowds of callers
that go away. Afterwards no file descriptor is left, no deadline was missed, and the next call succeeds."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from admin_api.jwks import RemoteKeys
from admin_api.provider_metadata import DiscoveredMetadata, Documents
from headgate.evidence import remote_signer, senders
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.export_targets import BucketTarget, HttpTarget, Target
from headgate.integrations.platform_api import PlatformApi
from headgate.judges.breaker import OPEN_SECONDS
from headgate.judges.judge import Judges
from headgate.judges.model import Failure, JudgeError, Provider, ProviderKind, Question
from headgate.judges.transport import open_client
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.mfa.providers import requests
from headgate.organizations.destinations import Allowlist, OperatorBounds, parse_allowlist
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.httpx_transport import open_operator_client
from headgate.outgoing.model import OutgoingLimits, OutgoingRequest
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.siem.model import Destination, DestinationKind
from headgate.siem.senders import Senders
from tests.integration.outgoing.outage import (
    FailingServer,
    Outage,
    crowd,
    failing_server,
    files_left,
    json_answer,
    open_files,
)

type Call = Callable[[int], Awaitable[object]]
type Client = Callable[[int, float], AbstractAsyncContextManager[Call]]

_DEADLINE_SECONDS = 0.4
_LATE_SECONDS = 2.0
"""Beyond the deadline: the machine may be busy, an outage takes longer."""
_OUTAGES = [one for one in Outage if one is not Outage.NONE]
_LOOPBACK: Allowlist = parse_allowlist('{"destinations":[{"host":"127.0.0.1","private":true}]}', None)
_JUDGEMENT = {"flagged": False, "risk_score": 0.1, "confidence": 0.9, "detected_issues": [], "reasoning": "Fine."}
_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
_SIGNATURE = _KEY.sign(b"message")
_JSON = json_answer(
    json.dumps(
        {"choices": [{"message": {"content": json.dumps(_JUDGEMENT)}, "finish_reason": "stop"}], "keys": []}
    ).encode()
)


@asynccontextmanager
async def _outgoing(port: int, seconds: float) -> AsyncIterator[Call]:
    """Webhooks, notifications, integrations, connections and executions."""
    client = OutgoingClient(trusted_roots(None), SystemResolver())
    request = OutgoingRequest("POST", f"http://127.0.0.1:{port}/", body=b"x")
    yield lambda _: client.send(request, _LOOPBACK, OutgoingLimits(seconds, seconds))


@asynccontextmanager
async def _outgoing_tls(port: int, seconds: float) -> AsyncIterator[Call]:
    """The server speaks no TLS: it stays silent, or breaks off, in the handshake."""
    client = OutgoingClient(trusted_roots(None), SystemResolver())
    request = OutgoingRequest("POST", f"https://127.0.0.1:{port}/", body=b"x")
    plain = OutgoingRequest("POST", f"http://127.0.0.1:{port}/", body=b"x")
    limits = OutgoingLimits(seconds, seconds)
    yield lambda number: client.send(plain if number < 0 else request, _LOOPBACK, limits)


@asynccontextmanager
async def _judges(port: int, seconds: float) -> AsyncIterator[Call]:
    provider = Provider(ProviderKind.OPENAI_COMPATIBLE, f"http://127.0.0.1:{port}/v1", rules=OperatorBounds(None))
    asked = iter(range(1 << 20))
    async with open_client() as client:
        # The clock runs ahead, so that the breaker does not decide how soon a call succeeds.
        judges = Judges(client, clock=lambda: time.monotonic() * 100, deadline_seconds=seconds)

        def ask(_: int) -> Awaitable[object]:
            action = canonical_bytes({"number": next(asked)})
            return judges.ask(Question(provider, "m", "p", 0.5, action, ("org_a", "nlp_a", "1")))

        yield ask
        await judges.close()


def _siem(kind: DestinationKind) -> Client:
    @asynccontextmanager
    async def opened(port: int, seconds: float) -> AsyncIterator[Call]:
        resolver, roots = SystemResolver(), trusted_roots(None)
        streams = Senders(OutgoingClient(roots, resolver), roots, resolver, None)
        to = Destination("s", kind, f"http://127.0.0.1:{port}/", host="127.0.0.1", port=port)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("headgate.siem.senders._LIMITS", OutgoingLimits(seconds, seconds))
            patch.setattr("headgate.siem.senders._BATCH_SECONDS", seconds)
            yield lambda _: streams.send("org_a", to, b"5 hello", None, _LOOPBACK)

    return opened


@asynccontextmanager
async def _provider_documents(port: int, seconds: float) -> AsyncIterator[Call]:
    async with open_operator_client(trusted_roots(None)) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("admin_api.provider_metadata._SECONDS", seconds)
            documents = Documents(client)
            yield lambda _: documents.get(f"http://127.0.0.1:{port}/.well-known/openid-configuration")


@asynccontextmanager
async def _provider_keys(port: int, seconds: float) -> AsyncIterator[Call]:
    """Keys that nobody knows yet, with all who wait for the same request."""
    issuer = f"http://127.0.0.1:{port}"
    async with open_operator_client(trusted_roots(None)) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("admin_api.jwks._FETCH_SECONDS", seconds)
            patch.setattr("admin_api.jwks._WITHOUT_KEYS_SECONDS", 0.1)
            documents = Documents(client)
            metadata = DiscoveredMetadata(issuer, documents)
            keys = RemoteKeys(issuer, metadata=metadata, documents=documents, jwks_url=f"{issuer}/keys")
            yield lambda _: keys.find("one")


@asynccontextmanager
async def _factors(port: int, seconds: float) -> AsyncIterator[Call]:
    async with open_operator_client(trusted_roots(None)) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(requests, "TIMEOUT_SECONDS", seconds)
            yield lambda _: requests.ask(client, "keycloak", "GET", f"http://127.0.0.1:{port}/", headers={})


@asynccontextmanager
async def _platform(port: int, seconds: float) -> AsyncIterator[Call]:
    """An integration's platform, and the keys of its workflows' tokens."""
    client = OutgoingClient(trusted_roots(None), SystemResolver())
    api = PlatformApi(client, f"http://127.0.0.1:{port}", (), _LOOPBACK, deadline_seconds=seconds)
    yield lambda _: api.call("GET", "/.well-known/openid-configuration")


def _export(target_of: Callable[[str], Target]) -> Client:
    @asynccontextmanager
    async def opened(port: int, seconds: float) -> AsyncIterator[Call]:
        item = senders.Outgoing("org_a", Checkpoint("headgate/org_a", 1, bytes(32)), "note")
        target = target_of(f"http://127.0.0.1:{port}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(senders, "EXPORT_SECONDS", seconds)
            async with senders.open_export_client() as client:
                yield lambda _: senders.send(client, target, item)

    return opened


@asynccontextmanager
async def _signer(port: int, seconds: float) -> AsyncIterator[Call]:
    public = _KEY.public_key().public_bytes_raw()
    signer = remote_signer.RemoteSigner(public, f"http://127.0.0.1:{port}/", Secret("token"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote_signer, "SIGNATURE_SECONDS", seconds)
        yield lambda _: signer.sign(b"message")


_SIGNED = b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + _SIGNATURE
CLIENTS: dict[str, tuple[Client, bytes]] = {
    "webhooks, notifications, integrations, connections": (_outgoing, _JSON),
    "the same, over TLS": (_outgoing_tls, _JSON),
    "judges": (_judges, _JSON),
    "SIEM over HTTP": (_siem(DestinationKind.HTTP), _JSON),
    "SIEM over syslog": (_siem(DestinationKind.SYSLOG_TCP), b""),
    "identity provider's documents": (_provider_documents, _JSON),
    "identity provider's keys": (_provider_keys, _JSON),
    "factors at the provider": (_factors, _JSON),
    "platforms of integrations": (_platform, _JSON),
    "checkpoints and time stamps": (_export(lambda url: HttpTarget(f"{url}/", "t")), _JSON),
    "checkpoints in a bucket": (
        _export(lambda url: BucketTarget(url, "b", "p", "r", "a", Secret("s"), 1, "t")),
        _JSON,
    ),
    "signer": (_signer, _SIGNED),
}


@pytest.mark.parametrize("name", CLIENTS)
async def test_nothing_is_left_of_an_outage(name: str) -> None:
    opened, answer = CLIENTS[name]
    async with failing_server(answer) as server, opened(server.port, _DEADLINE_SECONDS) as call:
        before = open_files()
        for number, outage in enumerate(_OUTAGES):
            await server.fail(outage)
            began = time.monotonic()
            await crowd(call, 40, 0.05 if number % 2 else _DEADLINE_SECONDS, seed=number)
            assert time.monotonic() - began < _DEADLINE_SECONDS + _LATE_SECONDS, outage

            await server.fail(Outage.NONE)
            assert not await files_left(before), outage
            await _recovered(call, server)
            assert not await files_left(before, 2), outage  # one may be kept, with its other end


async def _recovered(call: Call, server: FailingServer) -> None:
    """The breaker of the judges, and keys that nobody has, may want a moment; nothing else may."""
    for _ in range(5):
        try:
            await call(-1)
        except JudgeError as error:
            assert error.failure is Failure.BREAKER_OPEN
            await asyncio.sleep(OPEN_SECONDS / 100)
        except UnavailableError as error:
            assert "keys are unreachable" in error.message
            await asyncio.sleep(0.1)
        else:
            return
    raise AssertionError(f"port {server.port} answers again, and is not asked")
