"""The line of the file of signing keys for a key that never leaves its device (``SIGNER+…``)."""

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from headgate.evidence.kms_signer import KmsSigner
from headgate.evidence.note import KeyKind, VerifierKey, parse_verifier_key
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.kms.key_address import AWS, FORMS, TRANSIT, KeyAddress, parse_key_address
from headgate.kms.key_services import KeyServices

if TYPE_CHECKING:
    from headgate.evidence.remote_signer import RemoteSigner

PREFIX: Final = "SIGNER+"
_LINE: Final = re.compile(r"SIGNER\+([^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2})\+((?:https?|awskms|hashivault)://\S+)")
_TRIAL: Final = b"headgate: a trial of this key, and no checkpoint\n"
_TOKEN: Final = re.compile(r"[!-~]+")


async def signer_line(log_name: str, address: KeyAddress, services: KeyServices) -> str:
    """Returns the line of the file of signing keys for this key, after a trial signature. Raises UnavailableError: the
    service is away or refuses, or the key is of another type."""
    signing, public_key = await services.public_key(address)
    await KmsSigner(public_key, signing, services).sign(_TRIAL)
    return f"{PREFIX}{VerifierKey(log_name, public_key).text}+{signing}"


def parse_remote(line: str, services: KeyServices | None = None) -> "tuple[str, RemoteSigner | KmsSigner]":
    """Parses ``SIGNER+name+id+material+https://:TOKEN@host/path``, or with the address of a key in a key management
    service in place of the URL. Returns the log's name and the signer. Raises ValidationError, which shows no part of
    the URL."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValidationError(
            "a signer is malformed: expected SIGNER+name+id+material+ and then https://:TOKEN@host/path or the address"
            f" of a key ({FORMS})"
        )
    key = parse_verifier_key(match[1])
    if key.kind is not KeyKind.ED25519:
        raise ValidationError("a signer needs the key of a log")
    if match[2].partition(":")[0] in (AWS, TRANSIT):
        return key.name, KmsSigner(key.public_key, parse_key_address(match[2]), services)
    return key.name, _remote(key.public_key, match[2])


def _remote(public_key: bytes, address: str) -> "RemoteSigner":
    from headgate.evidence.remote_signer import RemoteSigner  # noqa: PLC0415 - few have one, and it brings httpx

    try:
        parts = urlsplit(address)
        hostname, port = parts.hostname, parts.port
    except ValueError:
        raise ValidationError("the address of a signer is malformed: expected https://:TOKEN@host:port/path") from None
    if not hostname:
        raise ValidationError("a signer needs an address")
    host = f"[{hostname}]" if ":" in hostname else hostname
    url = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path or '/'}"
    token = unquote(parts.password) if parts.password else None
    if token is not None and _TOKEN.fullmatch(token) is None:
        raise ValidationError(
            f"the token of the signer at {url} cannot be sent in an HTTP header: use printable ASCII characters without"
            " spaces"
        )
    return RemoteSigner(public_key, url, None if token is None else Secret(token))
