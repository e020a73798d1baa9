"""The address of a key in a key management service, in the forms of Sigstore's cosign.

``awskms:///KEY``, KEY being an ARN, an identifier, or ``alias/NAME``; ``hashivault://KEY`` for the transit engine of
HashiCorp Vault and OpenBao (docs.sigstore.dev, "Key management"). An address names no server and holds no credential.
Otherwise, a person who can change a file with an address could have the process send its token to another server.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from headgate.kernel.errors import ValidationError

AWS: Final = "awskms"
TRANSIT: Final = "hashivault"
FORMS: Final = f"{AWS}:///ARN, {AWS}:///alias/NAME or {TRANSIT}://KEY"

# AWS KMS Developer Guide, "Key identifiers"; names of transit keys in Vault.
_AWS_KEY: Final = re.compile(r"[A-Za-z0-9:/_-]{1,2048}")
_REGION: Final = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d{1,2}")
_TRANSIT_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_VERSION: Final = re.compile(r"[1-9]\d{0,8}")


class AwsKey(Struct, frozen=True):
    """``region`` None: that of the environment."""

    key_id: str
    region: str | None

    def __str__(self) -> str:
        in_arn = self.key_id.startswith("arn:")
        return f"{AWS}:///{self.key_id}" + ("" if self.region is None or in_arn else f"?region={self.region}")


class TransitKey(Struct, frozen=True):
    """``version`` None: the newest version encrypts and signs."""

    name: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{TRANSIT}://{self.name}" + ("" if self.version is None else f"?version={self.version}")


type KeyAddress = AwsKey | TransitKey


def parse_key_address(text: str) -> KeyAddress:
    """Raises ValidationError, which shows no part of the text: it may hold a token."""
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError:
        raise _malformed() from None
    if parts.fragment or "@" in parts.netloc:
        raise _malformed()
    if parts.scheme == AWS:
        return _aws(parts.netloc, parts.path, options)
    if parts.scheme == TRANSIT:
        return _transit(parts.netloc, parts.path, options)
    raise _malformed()


def _aws(host: str, path: str, options: dict[str, str]) -> AwsKey:
    key_id = path.removeprefix("/")
    if host:
        raise ValidationError(
            f"the address of a key in AWS KMS must begin with {AWS}:/// (three slashes). To name an endpoint, set"
            " AWS_ENDPOINT_URL_KMS"
        )
    arn_region = key_id.split(":")[3] if key_id.startswith("arn:") and key_id.count(":") >= 5 else None
    region = options.pop("region", None) if arn_region is None else arn_region
    if options or not _AWS_KEY.fullmatch(key_id) or (region is not None and not _REGION.fullmatch(region)):
        raise _malformed()
    return AwsKey(key_id, region)


def _transit(name: str, path: str, options: dict[str, str]) -> TransitKey:
    version = options.pop("version", None)
    if options or path or not _TRANSIT_KEY.fullmatch(name) or not (version is None or _VERSION.fullmatch(version)):
        raise _malformed()
    return TransitKey(name, None if version is None else int(version))


def _malformed() -> ValidationError:
    return ValidationError(f"the address of a key is malformed: expected {FORMS}")
