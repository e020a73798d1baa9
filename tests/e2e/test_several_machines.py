"""One gate on several machines: proxies that share an authority, an API without a proxy beside it, and agents whose
machine has no runtime file."""

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from headgate.kernel.public_roots import public_roots
from proxy.authority import make_certificate
from tests.e2e.clients import Administrator, error_of
from tests.e2e.conftest import LOOPBACK
from tests.e2e.instance import one_more_api, one_more_proxy, running

_READ: Final = "import os,urllib.request; print(urllib.request.urlopen(os.environ['TARGET']).status)"


@dataclass(frozen=True)
class Machines:
    """``proxies``: one of the instance, and one of another machine. ``api_url``: of a third, without a proxy.
    ``home``: that of an agent's user on a fourth."""

    api_url: str
    proxies: tuple[str, str]
    agent_key: str
    fingerprint: str
    home: Path

    def headgate(self, *words: str, key: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("HEADGATE_", "XDG_"))}
        environment |= {"HOME": str(self.home), **variables}
        command = [sys.executable, "-m", "headgate.cli.main", *words]
        return subprocess.run(
            command, env=environment, cwd=self.home, input=key, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, certificates: tuple[Path, Path]) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    key = ec.generate_private_key(ec.SECP256R1())
    authority = make_certificate(key, datetime.now(UTC))
    pem = authority.public_bytes(Encoding.PEM)
    shared, public = folder / "shared.pem", folder / "public.pem"
    shared.touch(mode=0o600)
    shared.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + pem)
    public.write_bytes(pem)
    for name in ("first", "home"):
        (folder / name).mkdir()
    with running(folder / "first", certificates[0], HEADGATE_CA_FILE=str(shared)) as instance:
        with closing(Administrator(instance)) as administrator:
            administrator.allow_destinations(LOOPBACK)
        keys_file = str(instance.folder / "data" / "vault" / "master-keys.json")
        with one_more_proxy(
            instance, HEADGATE_DATA_DIR=str(folder / "second"), HEADGATE_MASTER_KEYS_FILE=keys_file
        ) as proxy_url, one_more_api(
            instance,
            HEADGATE_DATA_DIR=str(folder / "third"),
            HEADGATE_MASTER_KEYS_FILE=keys_file,
            HEADGATE_CA_FILE=str(public),
            HEADGATE_PUBLIC_PROXY_URL=proxy_url,
        ) as api_url:  # fmt: skip
            runtime = instance.runtime
            fingerprint = authority.fingerprint(hashes.SHA256()).hex(":").upper()
            proxies = (runtime["proxy_url"], proxy_url)
            yield Machines(api_url, proxies, runtime["agent_key"], fingerprint, folder / "home")


@pytest.fixture
def joined(machines: Machines) -> Iterator[Machines]:
    done = machines.headgate("join", machines.api_url, "--key", "-", key=machines.agent_key)
    assert done.returncode == 0, done.stderr
    yield machines
    shutil.rmtree(machines.home / ".local")


def test_who_trusts_one_proxy_trusts_the_next(machines: Machines, upstream, new_path) -> None:
    served = httpx.get(f"{machines.api_url}/ca.pem", verify=public_roots(), trust_env=False)
    [authority] = x509.load_pem_x509_certificates(served.content)
    assert authority.fingerprint(hashes.SHA256()).hex(":").upper() == machines.fingerprint
    assert b"PRIVATE KEY" not in served.content
    trust = ssl.create_default_context(cadata=served.text)
    for url in machines.proxies:
        proxy = httpx.Proxy(url, auth=("agent", machines.agent_key))
        with httpx.Client(proxy=proxy, verify=trust, trust_env=False, timeout=30) as client:
            assert client.get(upstream.url + new_path()).status_code == 200
            assert error_of(client.delete(upstream.url + new_path()))["code"] == "ACTION_DENIED"


def test_an_agents_machine_joins_and_needs_no_runtime_file(joined: Machines, upstream, new_path) -> None:
    kept = joined.home / ".local" / "state" / "headgate" / "joined" / "agent.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "token" not in kept.read_text()
    assert "database" not in kept.read_text()
    done = joined.headgate("run", "--", sys.executable, "-c", _READ, TARGET=upstream.url + new_path())
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    variables = joined.headgate("env", "--format", "docker").stdout
    assert f"@{joined.proxies[1].removeprefix('http://')}" in variables
    told = joined.headgate("doctor")
    assert told.returncode == 0, told.stdout
    assert "takes the key of default" in told.stdout
    assert joined.headgate("leave").returncode == 0
    assert not kept.exists()
    nothing = joined.headgate("env")
    assert (nothing.returncode, "headgate join URL" in nothing.stderr) == (1, True)
    joined.headgate("join", joined.api_url, HEADGATE_AGENT_KEY=joined.agent_key)


def test_two_variables_are_enough(machines: Machines, upstream, new_path) -> None:
    """As in a container, with the authority's fingerprint for a network without TLS."""
    given = {
        "HEADGATE_API_URL": machines.api_url,
        "HEADGATE_AGENT_KEY": machines.agent_key,
        "HEADGATE_CA_SHA256": machines.fingerprint,
    }
    target = upstream.url + new_path()
    done = machines.headgate("run", "--", sys.executable, "-c", _READ, TARGET=target, **given)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    wrong = machines.headgate("env", **{**given, "HEADGATE_CA_SHA256": "00" * 32})
    assert (wrong.returncode, "which is not among those" in wrong.stderr) == (1, True)
    unknown = machines.headgate("env", **{**given, "HEADGATE_AGENT_KEY": "hg_" + "a" * 40})
    assert (unknown.returncode, unknown.stdout) == (1, "false\n")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://gate.example.com:8470", "is not encrypted"),
        ("http://10.0.0.7:8470", "--ca-sha256 or HEADGATE_CA_SHA256"),
        ("gate.example.com", "is not the address of an API"),
        ("ftp://gate.example.com", "is not the address of an API"),
        ("http://127.0.0.1:9", "127.0.0.1:9"),
    ],
)
def test_a_gate_that_cannot_be_joined_leaves_nothing_behind(machines: Machines, url: str, problem: str) -> None:
    refused = machines.headgate("join", url, "--key", "-", key=machines.agent_key)
    assert (refused.returncode, problem in refused.stderr) == (1, True), refused.stderr
    assert not (machines.home / ".local" / "state" / "headgate" / "joined").exists()
