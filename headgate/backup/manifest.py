"""The manifest of a backup: what it holds, of which version, and where each audit log ended.

JSON, never encrypted: ``headgate backup verify`` reads it without a passphrase. It holds no secret. With a passphrase
its ``seal`` authenticates it (``encryption``), and with it the digest of each part.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, to_builtins

from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ValidationError

FORMAT: Final = "headgate-backup"
FORMAT_VERSION: Final = 1
"""Raised with a change that an older program could not restore."""


class Head(Struct, frozen=True):
    """Where the audit log of an organization ended. ``hash``: of the newest sealed event, in hex; None where ``seq`` is
    0. ``waiting``: journal rows that were not sealed yet. ``checkpoint``: the newest signed note."""

    org_id: str
    seq: int
    hash: str | None
    waiting: int
    checkpoint: str | None


class Part(Struct, frozen=True):
    """``name``: of the ZIP member. ``size_bytes`` and ``sha256`` are of its bytes as they are stored."""

    name: str
    size_bytes: int
    sha256: str


class Encryption(Struct, frozen=True):
    """The parameters of scrypt (RFC 7914). ``salt`` and ``check`` are hex; ``check`` tells a wrong passphrase."""

    salt: str
    n: int
    r: int
    p: int
    check: str


class Manifest(Struct, frozen=True):
    """``schema``: checksums by name, as ``schema_migrations`` holds them. ``owner``: the role that owns the tables.
    ``master_keys``: identifiers of the keys that stored secrets need. ``seal``: hex, with a passphrase only."""

    backup_id: str
    created_at: datetime
    created_by: str
    program_version: str
    server_version: int
    owner: str
    schema: Mapping[str, str]
    heads: tuple[Head, ...]
    master_keys: tuple[str, ...]
    parts: tuple[Part, ...]
    encryption: Encryption | None = None
    seal: str | None = None

    @property
    def has_keys(self) -> bool:
        return any(part.name == KEYS for part in self.parts)

    def to_json(self) -> bytes:
        """The same manifest is the same bytes, so that a seal over them can be checked."""
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **to_builtins(self),
            "created_at": rfc3339(self.created_at),
        }
        return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


DATABASE: Final = "database.dump"
KEYS: Final = "keys.tar"
MANIFEST: Final = "manifest.json"


def parse_manifest(text: bytes) -> Manifest:
    """Raises ValidationError: not a manifest, or of a newer format."""
    try:
        document: dict[str, Any] = json.loads(text)
        is_ours = document["format"] == FORMAT
        version = int(document["format_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValidationError(f"it has no manifest of a Headgate backup ({type(error).__name__})") from error
    if not is_ours:
        raise ValidationError("its manifest is not that of a Headgate backup")
    if version > FORMAT_VERSION:
        raise ValidationError(
            f"its format is version {version}, and this program reads up to {FORMAT_VERSION}:"
            f" use Headgate {document.get('program_version', 'of a later version')}"
        )
    try:
        return Manifest(
            backup_id=str(document["backup_id"]),
            created_at=datetime.fromisoformat(document["created_at"]),
            created_by=str(document["created_by"]),
            program_version=str(document["program_version"]),
            server_version=int(document["server_version"]),
            owner=str(document["owner"]),
            schema={str(name): str(checksum) for name, checksum in document["schema"].items()},
            heads=tuple(Head(**one) for one in document["heads"]),
            master_keys=tuple(str(one) for one in document["master_keys"]),
            parts=tuple(Part(**one) for one in document["parts"]),
            encryption=None if document["encryption"] is None else Encryption(**document["encryption"]),
            seal=None if document["seal"] is None else str(document["seal"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValidationError(f"its manifest is malformed ({type(error).__name__})") from error
