"""A real OpenID Connect provider (oidc-provider, certified by the OpenID Foundation) in a process of its own.

Its keys are ours to change, which needs a new start: what a rotation is for whoever believes its tokens.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import httpx
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from headgate.kernel.public_roots import public_roots
from tests.free_port import free_port

FOLDER: Final = Path(__file__).resolve().parents[3] / "identity_provider"
SECRET: Final = "secret-of-the-tests"
ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")


def new_keys(generation: int) -> list[dict[str, Any]]:
    """A private key for each algorithm that is believed."""
    made = {
        "RS256": RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True),
        "PS256": RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True),
        "ES256": ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True),
        "EdDSA": OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate(), as_dict=True),
    }
    for key in made.values():
        key.pop("key_ops", None)
    return [{**key, "alg": name, "use": "sig", "kid": f"{name}-{generation}"} for name, key in made.items()]


@dataclass
class IdentityProvider:
    """``people``: by subject, the claims of each. ``programs``: the same for clients that ask for themselves."""

    folder: Path
    port: int
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: list[dict[str, Any]] = field(default_factory=list)
    keys: list[dict[str, Any]] = field(default_factory=lambda: new_keys(1))
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program = FOLDER / "node_modules" / "oidc-provider"
        assert program.exists(), "run make tests, or npm ci in tests/identity_provider, to install it"
        document = self.folder / "provider.json"
        document.write_text(json.dumps({"people": self.people, "jwks": self.keys, "clients": self.clients}))
        log = self.folder / "provider.log"
        environment = {**os.environ, "PORT": str(self.port), "CONFIG": str(document), "NODE_NO_WARNINGS": "1"}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["node", str(FOLDER / "server.mjs")], env=environment, stdout=output, stderr=output
            )
        deadline = time.monotonic() + 60
        while f"listening on {self.issuer}" not in log.read_text():
            assert self.process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    async def token_of_program(self, client_id: str, audience: str) -> str:
        """An access token of the client credentials grant, as a JWT for this audience (RFC 8707)."""
        async with httpx.AsyncClient(verify=public_roots(), timeout=60, trust_env=False) as client:
            answer = await client.post(
                f"{self.issuer}/token",
                data={"grant_type": "client_credentials", "resource": f"urn:{audience}"},
                auth=(client_id, SECRET),
            )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])


def program_of(algorithm: str) -> dict[str, Any]:
    """A client that asks for itself; its tokens are signed with this algorithm."""
    return {
        "client_id": f"program-{algorithm}",
        "client_secret": SECRET,
        "grant_types": ["client_credentials"],
        "redirect_uris": [],
        "response_types": [],
        "id_token_signed_response_alg": algorithm,
    }


def browser_client(client_id: str, redirect_uri: str, algorithm: str = "RS256", **more: Any) -> dict[str, Any]:
    """The client that our browser login is."""
    return {
        "client_id": client_id,
        "client_secret": SECRET,
        "redirect_uris": [redirect_uri],
        "id_token_signed_response_alg": algorithm,
        **more,
    }


@contextmanager
def run_identity_provider(
    folder: Path, people: Mapping[str, dict[str, Any]], clients: list[dict[str, Any]]
) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(folder, free_port(), dict(people), clients)
    provider.start()
    try:
        yield provider
    finally:
        provider.stop()


async def sign_in_at(browser: httpx.AsyncClient, address: str, person: str) -> httpx.Response:
    """What a person does there, from the address that they were sent to: log in, consent. Answers the response that
    sends the browser back to where it came from; it is not followed."""
    answer = await browser.get(address)
    for _ in range(10):
        if answer.is_redirect:
            target = urljoin(str(answer.url), answer.headers["location"])
            if httpx.URL(target).port != httpx.URL(address).port:
                return answer
            answer = await browser.get(target)
            continue
        assert answer.status_code == 200, answer.text
        action = answer.text.partition('action="')[2].partition('"')[0]
        form = (
            {"prompt": "login", "login": person, "password": "x"}
            if 'name="login"' in answer.text
            else {"prompt": "consent"}
        )
        answer = await browser.post(urljoin(str(answer.url), action), data=form)
    raise AssertionError("the provider never sent the browser back")
