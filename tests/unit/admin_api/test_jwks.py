import asyncio
import json

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from admin_api.jwks import RemoteKeys, parse_jwks
from admin_api.provider_metadata import DiscoveredMetadata, Documents
from headgate.kernel.errors import UnavailableError

ED = json.loads(OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate().public_key()))
RSA = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048).public_key()))
SMALL = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key()))  # noqa: S505 - to be refused
P256 = json.loads(ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key()))
P384 = json.loads(ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key()))
PRIVATE = json.loads(OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate()))
RSA.pop("key_ops", None)


@pytest.mark.parametrize(
    ("entry", "algorithms"),
    [
        (ED, {"EdDSA"}),
        (RSA, {"RS256", "PS256"}),
        (RSA | {"alg": "RS256"}, {"RS256"}),
        (RSA | {"alg": "HS256"}, None),
        (RSA | {"use": "enc"}, None),
        (RSA | {"key_ops": ["encrypt"]}, None),
        (SMALL, None),
        (P256, {"ES256"}),
        (P384, None),
        (PRIVATE, None),
        ({"kty": "oct", "k": "c2VjcmV0"}, None),
        ({"kty": "RSA", "n": "!", "e": "AQAB"}, None),
        ({"kty": "OKP", "crv": "X25519", "x": "AAAA"}, None),
        ({}, None),
    ],
)
def test_only_public_keys_that_are_strong_enough_are_taken(
    entry: dict[str, object], algorithms: set[str] | None
) -> None:
    keys = parse_jwks(json.dumps({"keys": [entry | {"kid": "k"}, entry | {"kid": 1}]}).encode())
    assert ({key_id: key.algorithms for key_id, key in keys.items()}) == (
        {} if algorithms is None else {"k": algorithms}
    )


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": 1}'])
def test_what_is_no_key_set(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"keys|Expecting"):
        parse_jwks(text)


class Issuer:
    """What an issuer answers, and how often it was asked."""

    def __init__(self) -> None:
        self.keys = {"keys": [ED | {"kid": "one"}]}
        self.status = 200
        self.asked: list[str] = []
        self.discovery = {"issuer": "https://id.example", "jwks_uri": "https://id.example/keys"}

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path.startswith("/.well-known"):
            return httpx.Response(self.status, json=self.discovery)
        return httpx.Response(self.status, json=self.keys)


def remote_keys(client: httpx.AsyncClient, clock: "Clock", jwks_url: str | None = None) -> RemoteKeys:
    documents = Documents(client)
    metadata = DiscoveredMetadata("https://id.example", documents, monotonic=clock)
    return RemoteKeys("https://id.example", metadata=metadata, documents=documents, jwks_url=jwks_url, monotonic=clock)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_keys_are_kept_fetched_again_and_never_too_often() -> None:
    issuer, clock = Issuer(), Clock()
    async with httpx.AsyncClient(transport=httpx.MockTransport(issuer.answer)) as client:
        keys = remote_keys(client, clock)
        for _ in range(3):
            assert await keys.find("one") is not None
        assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]

        # Made-up key ids do not make us ask, until the floor has passed.
        for number in range(50):
            assert await keys.find(f"made up {number}") is None
        assert len(issuer.asked) == 2
        issuer.keys["keys"].append(ED | {"kid": "two"})
        clock.now += 30
        assert await keys.find("two") is not None
        assert len(issuer.asked) == 3

        # The issuer is gone: what is known serves for a day, and no longer.
        issuer.status = 503
        clock.now += 3600
        assert await keys.find("one") is not None
        clock.now += 24 * 3600
        with pytest.raises(UnavailableError):
            await keys.find("one")
        issuer.status = 200
        clock.now += 30
        assert await keys.find("one") is not None

        # A key that its issuer has withdrawn is gone ten minutes later.
        issuer.keys["keys"].pop(0)
        clock.now += 601
        assert await keys.find("one") is None


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://other.example", "jwks_uri": "https://id.example/keys"},
        {"issuer": "https://id.example"},
        {"issuer": "https://id.example", "jwks_uri": "http://id.example/keys"},
        {"issuer": "https://id.example", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "https://id.example", "jwks_uri": "http://[broken"},
    ],
)
async def test_a_discovery_document_that_is_not_believed(discovery: dict[str, str]) -> None:
    issuer = Issuer()
    issuer.discovery = discovery
    async with httpx.AsyncClient(transport=httpx.MockTransport(issuer.answer)) as client:
        with pytest.raises(UnavailableError):
            await remote_keys(client, Clock()).find("one")
    assert issuer.asked == ["/.well-known/openid-configuration"]


async def test_a_key_set_that_never_ends_is_not_read_to_its_end() -> None:
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=b" " * 300_000))
    ) as client:
        keys = remote_keys(client, Clock(), "https://id.example/keys")
        with pytest.raises(UnavailableError):
            await keys.find("one")


async def test_nobody_who_shows_a_known_key_waits_for_an_issuer_that_hangs() -> None:
    issuer, clock = Issuer(), Clock()
    hanging = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        if hanging.is_set():
            await asyncio.sleep(3600)
        return issuer.answer(request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        keys = remote_keys(client, clock)
        assert await keys.find("one") is not None
        hanging.set()
        clock.now += 601
        waiting = [asyncio.ensure_future(keys.find("one")) for _ in range(20)]
        done, pending = await asyncio.wait(waiting, timeout=0.5)
        assert (len(done), len(pending)) == (19, 1)  # the one that asks gives up soon, too
        assert await pending.pop() is not None
        started = asyncio.get_running_loop().time()
        assert await keys.find("one") is not None
        assert await keys.find("made up") is None
        assert asyncio.get_running_loop().time() - started < 0.5
