"""The gate that a machine's agents use: an instance on this machine, one that the environment names, or one that this
user has joined.

In this order: ``--runtime-file``, HEADGATE_RUNTIME_FILE, an instance that runs on this machine, HEADGATE_API_URL with
HEADGATE_AGENT_KEY, and what ``headgate join`` keeps.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headgate.cli.api_client import ApiClient
from headgate.cli.target import Target, about_foreign_data, about_stopped_data, default_runtime_file, find_instance
from headgate.client import operations
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.secrets import Secret
from headgate.runtime.agent_access import CERTIFICATES, AgentAccess, joined_folder, read_access
from headgate.runtime.instance_pointer import state_folder

FINGERPRINTS_VARIABLE: Final = "HEADGATE_CA_SHA256"


def find_gate(runtime_file: Path | None, environment: Mapping[str, str] = os.environ) -> AgentAccess:
    """Raises UnavailableError, which says how to name a gate; ValidationError, UnauthorizedError (of the API)."""
    is_named = runtime_file is not None or environment.get("HEADGATE_RUNTIME_FILE")
    if is_named or default_runtime_file(environment) is not None:
        return find_instance(runtime_file, environment).access
    api_url, key = environment.get("HEADGATE_API_URL"), environment.get("HEADGATE_AGENT_KEY")
    if api_url and key:
        # One folder for each gate and agent: other shells of this user may name others.
        name = hashlib.sha256(f"{api_url}\0{key}".encode()).hexdigest()[:16]
        given = environment.get(FINGERPRINTS_VARIABLE, "").split()
        folder = state_folder(environment) / "gates" / name
        return ask_gate(api_url, Secret(key), given, folder)
    if stopped := about_stopped_data(environment):
        raise UnavailableError(stopped)
    joined = read_access(joined_folder(environment))
    if joined is None:
        raise UnavailableError(
            "no gate found. If Headgate runs on this machine, start it with headgate up (in a clone: make up), or"
            " name its runtime file with --runtime-file PATH. If it runs on another, use headgate join URL, or set"
            f" HEADGATE_API_URL and HEADGATE_AGENT_KEY{about_foreign_data(environment)}"
        )
    return joined


def require_safe(api_url: str, fingerprints: Sequence[str]) -> None:
    """Whoever stands between could send an authority of their own, and read every call of the agent."""
    parts = urlsplit(api_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValidationError(f"{api_url} is not the address of an API: https://HOST or http://HOST:PORT is expected")
    if parts.scheme == "https" or is_of_this_machine(api_url) or _digits(fingerprints):
        return
    raise ValidationError(
        f"{api_url} is not encrypted, so an attacker on the network could supply another certificate authority. Use"
        f" https://, or give the authority's SHA-256 (headgate ca show) with --ca-sha256 or {FINGERPRINTS_VARIABLE}"
    )


def ask_gate(api_url: str, key: Secret, fingerprints: Sequence[str], folder: Path) -> AgentAccess:
    """Asks the API for the proxy's address and the certificates to trust, and keeps those in ``folder``.

    ``fingerprints``: SHA-256 of certificates, in hexadecimal. Where some are given, no other certificate is taken.
    Raises ValidationError, UnavailableError, and the API's errors.
    """
    from cryptography import x509  # noqa: PLC0415 - takes as long to load as all else of headgate env
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

    require_safe(api_url, fingerprints)
    expected = _digits(fingerprints)
    answer = ApiClient(Target(api_url.rstrip("/"), key)).send(operations.get_agents_me)
    pem = answer["certificates"].encode()
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise UnavailableError(f"{api_url} sent no certificate. Is it the API of Headgate?") from error
    found = {one.fingerprint(hashes.SHA256()).hex() for one in certificates}
    if expected and not found <= expected:
        raise ValidationError(
            f"{api_url} names a certificate with SHA-256 {min(found - expected)}, which is not among those that you"
            " gave. Compare it with headgate ca show on the gate's machine"
        )
    if is_of_this_machine(answer["proxy_url"]) and not is_of_this_machine(api_url):
        raise UnavailableError(
            f"{api_url} says that its proxy is {answer['proxy_url']}, which this machine cannot reach. Its operator"
            " must set HEADGATE_PUBLIC_PROXY_URL for the API"
        )
    file = folder / CERTIFICATES
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists() or file.read_bytes() != pem:
            replace_file(file, pem, mode=0o644)
    except OSError as error:
        raise UnavailableError(
            f"{file} cannot be written ({error.strerror}). Name a folder that can with XDG_STATE_HOME"
        ) from error
    return AgentAccess(api_url.rstrip("/"), answer["proxy_url"], str(file), answer["id"], key)


def public_proxy(access: AgentAccess) -> str:
    """The proxy's address as the operator has set it for agents elsewhere. Raises the API's errors."""
    return ApiClient(Target(access.api_url, access.agent_key)).send(operations.get_agents_me)["proxy_url"]


def _digits(fingerprints: Sequence[str]) -> set[str]:
    return {digits for one in fingerprints if (digits := one.replace(":", "").strip().lower())}


def is_of_this_machine(url: str) -> bool:
    """An address of this machine alone (RFC 6890; RFC 6761, section 6.3)."""
    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
