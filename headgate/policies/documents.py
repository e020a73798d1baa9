"""Data documents (JSON) and shared Rego modules that policies read besides the call.

A document at the path ``limits.hard`` is ``data.limits.hard``; a module at the path ``time.windows`` is the package
``lib.time.windows``. Every change is a version, as with policies.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.audit.model import Actor
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError
from headgate.policies.versions import VersionChange

DOCUMENTS_MAX: Final = 500
DOCUMENT_MAX_BYTES: Final = 512 * 1024
DATA_MAX_BYTES: Final = 8 << 20
MODULES_MAX: Final = 100
_PARTS_MAX: Final = 8
_PART: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED: Final = ("allowlist", "headgate_entry", "lib")
MODULE_PATH: Final = rf"^{_PART.pattern}([./]{_PART.pattern}){{0,{_PARTS_MAX - 1}}}$"
DATA_PATH: Final = rf"^(?!({'|'.join(_RESERVED)})([./]|$)){MODULE_PATH.removeprefix('^')}"
"""What ``parse_data_path`` reads, as JSON Schema writes it (ECMA-262)."""


class DocumentKind(StrEnum):
    DATA = "data"
    MODULE = "module"


class PolicyDocument(Struct, frozen=True):
    """One version of a document or module; ``content`` is canonical JSON or Rego."""

    kind: DocumentKind
    path: str
    version: int
    content: str
    created_at: datetime
    updated_at: datetime


class DocumentVersion(Struct, frozen=True):
    """The document of this version; its ``updated_at`` is the version's creation time."""

    document: PolicyDocument
    change: VersionChange
    note: str | None
    actor: Actor | None


def parse_data_path(path: str) -> str:
    """``limits/hard`` or ``limits.hard`` as ``limits.hard``. Raises ValidationError."""
    parts = _parts(path)
    if parts[0] in _RESERVED:
        raise _bad_path(path, f"data.{parts[0]} is Headgate's own")
    return ".".join(parts)


def parse_module_path(path: str) -> str:
    """``time/windows`` as ``time.windows``, the package lib.time.windows. Raises ValidationError."""
    return ".".join(_parts(path))


def _parts(path: str) -> list[str]:
    parts = path.replace("/", ".").split(".")
    if len(parts) > _PARTS_MAX or not all(_PART.fullmatch(part) for part in parts):
        raise _bad_path(path, f"at most {_PARTS_MAX} names of letters, digits and underscores, with . or / between")
    return parts


def _bad_path(path: str, reason: str) -> ValidationError:
    return ValidationError(f"{path[:200]}: {reason}", details={"field": "path", "reason": reason})


def nested(documents: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The documents as the one object that policies read. Raises ValidationError if one would be inside another."""
    root: dict[str, JsonValue] = {}
    for path in sorted(documents):
        *parents, last = path.split(".")
        here = root
        for depth, parent in enumerate(parents):
            if ".".join(parents[: depth + 1]) in documents:
                raise _bad_path(path, f"data.{'.'.join(parents[: depth + 1])} is a document of its own")
            below = here.setdefault(parent, {})
            assert isinstance(below, dict)  # noqa: S101 - made here, and no document lies there
            here = below
        here[last] = documents[path]
    return root
