"""Sends one request to a key management service and reads its answer as JSON.

The client is that of all calls to services that the operator has named: one connection, no redirect, a deadline for the
whole exchange, at most 1 MiB. A request carries a token and key material, so plain HTTP is for this machine only.
"""

import json
import ssl
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kms.access import KmsAccess
from headgate.outgoing.httpx_transport import open_operator_client
from headgate.outgoing.trust import trusted_roots

EXCHANGE_SECONDS: Final = 5.0


class Answer(Struct, frozen=True):
    """``document`` is empty if the body is not a JSON object."""

    status: int
    document: dict[str, object]


async def exchange(
    access: KmsAccess, method: str, url: str, headers: Mapping[str, str], content: bytes, ca_file: Path | None
) -> Answer:
    """``ca_file``: more roots for this service (PEM). Raises UnavailableError, which names the host and no header's
    value."""
    host = _require_private(url)
    _require_printable(host, headers)
    try:
        roots = _roots(*(_seen(file) for file in (access.upstream_ca_file, ca_file)))
    except (OSError, ValidationError) as error:
        raise UnavailableError(f"the certificates for {host} cannot be read: {error}") from error
    try:
        async with open_operator_client(roots, EXCHANGE_SECONDS, access.upstream_proxy) as client:
            answer = await client.request(method, url, headers=dict(headers), content=content)
    except httpx.HTTPError as error:
        raise UnavailableError(f"{host} does not answer: {str(error) or type(error).__name__}") from error
    except httpx.InvalidURL as error:
        raise UnavailableError(
            f"the address of {host} is malformed: correct VAULT_ADDR or AWS_ENDPOINT_URL_KMS"
        ) from error
    return Answer(answer.status_code, _object(answer.content))


def _require_private(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, is_local = parts.hostname or "", _is_this_machine(parts.hostname or "")
    except ValueError:
        host, is_local = "", False
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_local)):
        raise UnavailableError(
            "the address of a key management service must begin with https:// (http:// only on this machine): correct"
            " VAULT_ADDR or AWS_ENDPOINT_URL_KMS"
        )
    return host


def _require_printable(host: str, headers: Mapping[str, str]) -> None:
    """A header with a line end would be refused by the HTTP client with its value, a token, in the error."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise UnavailableError(
                f"the header {name} for {host} has a line end or a character other than printable ASCII: correct"
                " VAULT_TOKEN, VAULT_NAMESPACE or the AWS credentials"
            )


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _object(content: bytes) -> dict[str, object]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


type _Seen = tuple[Path, int, int] | None


def _seen(file: Path | None) -> _Seen:
    if file is None:
        return None
    status = file.stat()
    return file, status.st_mtime_ns, status.st_ino


@lru_cache(maxsize=4)
def _roots(*files: _Seen) -> ssl.SSLContext:
    """Kept until a file is replaced: loading takes about 20 ms of processor time."""
    found = [one[0] for one in files if one is not None]
    context = trusted_roots(found[0] if found else None)
    for file in found[1:]:
        context.load_verify_locations(cafile=file)
    return context
