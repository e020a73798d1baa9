"""Cargo: the sparse index, downloads and the web API of a registry (The Cargo Book, "Registries").

Names that differ in case, or in ``-`` and ``_``, are one package.
"""

import re
from collections.abc import Sequence
from typing import Final

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.protocols.member_names import refuse_other_spellings, spellings
from headgate.protocols.package import Ecosystem, PackageAction, PackageRequest, unreadable

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VERSION: Final = re.compile(r"[0-9A-Za-z.+-]{1,200}")
_LENGTH_BYTES: Final = 4
_METADATA: Final = spellings("name", "vers")
_SHORT: Final = {1: "1", 2: "2"}


def normalise(name: str) -> str:
    return name.lower().replace("_", "-")


def read(method: str, segments: Sequence[str], body: bytes, *, is_coded: bool) -> PackageRequest | None:
    """``segments``: of the path, decoded. ``body`` as it was sent; ``is_coded``: in a content coding.

    Raises AmbiguousRequestError: a package that cannot be read.
    """
    match method, [*segments]:
        case "GET", ["config.json"]:
            return _request(PackageAction.METADATA, None)
        case "GET", ["api", "v1", "crates"]:
            return _request(PackageAction.METADATA, None)
        case "GET", ["api", "v1", "crates", name] if _NAME.fullmatch(name):
            return _request(PackageAction.METADATA, name)
        case "GET", ["api", "v1", "crates", name, version, "download"] if _is_version(name, version):
            return _request(PackageAction.INSTALL, name, version)
        case "GET", ["crates", name, file] if _NAME.fullmatch(name):
            told = _version_of(name, file)
            return None if told is None else _request(PackageAction.INSTALL, name, told)
        case "GET", [*folders, name] if _NAME.fullmatch(name) and folders == _folders(name):
            return _request(PackageAction.METADATA, name)
        case "PUT", ["api", "v1", "crates", "new"]:
            return _published(body, is_coded=is_coded)
        case "DELETE", ["api", "v1", "crates", name, version, "yank"] if _is_version(name, version):
            return _request(PackageAction.REMOVE, name, version)
        case "PUT", ["api", "v1", "crates", name, version, "unyank"] if _is_version(name, version):
            return _request(PackageAction.CHANGE, name, version)
        case "PUT" | "DELETE", ["api", "v1", "crates", name, "owners"] if _NAME.fullmatch(name):
            return _request(PackageAction.CHANGE, name)
    return None


def _folders(name: str) -> list[str]:
    """Where a file of the index lies ("Index Files")."""
    lowered = name.lower()
    if len(lowered) in _SHORT:
        return [_SHORT[len(lowered)]]
    return ["3", lowered[0]] if len(lowered) == 3 else [lowered[:2], lowered[2:4]]


def _version_of(name: str, file: str) -> str | None:
    version = file.removeprefix(f"{name}-").removesuffix(".crate")
    return version if file == f"{name}-{version}.crate" and _VERSION.fullmatch(version) is not None else None


def _published(body: bytes, *, is_coded: bool) -> PackageRequest:
    """Two parts, each behind its length: metadata in JSON, and the crate ("Publish")."""
    length = int.from_bytes(body[:_LENGTH_BYTES], "little")
    behind = _LENGTH_BYTES + length
    crate_bytes = int.from_bytes(body[behind : behind + _LENGTH_BYTES], "little")
    if is_coded or len(body) != behind + _LENGTH_BYTES + crate_bytes:
        raise unreadable("the package is not metadata and a crate, each behind its length")
    try:
        metadata = parse_strict(body[_LENGTH_BYTES:behind])
    except ValidationError as error:
        raise unreadable("its metadata is no JSON that all read alike") from error
    refuse_other_spellings(metadata, _METADATA, within="package's metadata")
    name, version = (metadata.get("name"), metadata.get("vers")) if isinstance(metadata, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(version, str) or not _is_version(name, version):
        raise unreadable("its metadata names no crate and version")
    return _request(PackageAction.PUBLISH, name, version)


def _is_version(name: str, version: str) -> bool:
    return _NAME.fullmatch(name) is not None and _VERSION.fullmatch(version) is not None


def _request(action: PackageAction, name: str | None, version: str | None = None) -> PackageRequest:
    return PackageRequest(Ecosystem.CARGO, action, None if name is None else normalise(name), version)
