"""An API beside a platform with OAuth 2.0, both on this machine, and an organization that may reach it."""

import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from proxy.authority import make_certificate
from tests.integration.admin_api.connections.authorization_server import REDIRECT, SECRET, Platform, application
from tests.integration.admin_api.connections.tls_server import tls_server


@dataclass(frozen=True)
class Tls:
    """``server``: what a server on localhost shows. ``roots``: who signed it. ``client_pair``: a client's."""

    server: ssl.SSLContext
    roots: Path
    client_pair: tuple[str, str]


def _certificate(name: str, root: x509.Certificate | None, root_key: Any) -> tuple[str, str]:
    """Signed by the root, or by itself where there is none."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if root is None else root.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(root_key or key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    folder = tmp_path_factory.mktemp("platform")
    root_key = ec.generate_private_key(ec.SECP256R1())
    root = make_certificate(root_key, datetime.now(UTC))
    (folder / "root.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    certificate, private_key = _certificate("localhost", root, root_key)
    (folder / "leaf.pem").write_text(private_key + certificate)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "root.pem")
    context.load_cert_chain(folder / "leaf.pem")
    return Tls(context, folder / "root.pem", _certificate("robot", None, None))


@dataclass
class OAuthPlatform:
    port: int
    state: Platform
    roots: Path
    app: Any

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def consent(self, authorization_url: str, *, deny: bool = False) -> dict[str, str]:
        """What a browser brings back of the person who consents there."""
        state = dict(parse_qsl(urlsplit(authorization_url).query))["state"]
        if deny:
            self.app.config["DENIED"].add(state)
        async with httpx.AsyncClient(verify=ssl.create_default_context(cafile=self.roots), trust_env=False) as browser:
            answer = await browser.get(authorization_url)
        assert answer.status_code == 302, answer.text
        location = answer.headers["location"]
        assert location.startswith(REDIRECT + "?")
        return dict(parse_qsl(urlsplit(location).query))


@pytest.fixture
def platform(tls: Tls) -> Iterator[OAuthPlatform]:
    state = Platform()
    app = application(state)
    with tls_server(app, tls.server) as port:
        yield OAuthPlatform(port, state, tls.roots, app)


@pytest.fixture(scope="module")
def api_changes(tls: Tls) -> dict[str, Any]:
    """Believes the platforms' authority."""
    return {"upstream_ca_file": tls.roots}


@pytest.fixture
async def admin(gate) -> AsyncIterator[httpx.AsyncClient]:
    """Of an organization that may reach this machine."""
    person = gate.person()
    entry = {"host": "127.0.0.1", "private": True}
    answer = await person.put("/admin/settings/allowlist", json={"destinations": [entry]})
    assert answer.status_code == 200, answer.text
    yield person


@pytest.fixture
def start_body(platform: OAuthPlatform) -> dict[str, Any]:
    return {
        "name": "code",
        "platform": "github",
        "redirect_uri": REDIRECT,
        "client_id": "headgate",
        "client_secret": SECRET,
        "hosts": [platform.host],
        "authorization_url": f"{platform.url}/authorize",
        "token_url": f"{platform.url}/token",
        "agents": ["*"],
    }


@pytest.fixture
async def connected(admin: httpx.AsyncClient, platform: OAuthPlatform, start_body: dict[str, Any]) -> dict[str, Any]:
    """A connection that somebody has consented to."""
    begun = await admin.post("/v1/connections/oauth/initiate", json=start_body)
    assert begun.status_code == 201, begun.text
    back = await platform.consent(begun.json()["authorization_url"])
    done = await admin.post("/v1/connections/oauth/callback", json=back)
    assert done.status_code == 200, done.text
    return dict(done.json())
