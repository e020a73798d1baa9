"""Reads an OPA bundle (``bundle.tar.gz``) as policies, modules and data documents; writes nothing to disk.

The format follows Open Policy Agent's documentation, "Bundle File Format": Rego files anywhere, ``data.json`` files
whose folder is the path of their members, ``.manifest``. A bundle is untrusted, so everything in it is bounded before
it is read, and only regular files are read.
"""

import gzip
import io
import json
import posixpath
import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import Final

from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.policies.documents import parse_data_path
from headgate.policies.model import REGO_MAX_BYTES
from headgate.policies.suites.model import Suite, SuitePolicy

_BUNDLE_MAX_BYTES: Final = 16 << 20
_UNPACKED_MAX_BYTES: Final = 64 << 20
_FILE_MAX_BYTES: Final = 4 << 20
_FILES_MAX: Final = 2_000
_PACKAGE: Final = re.compile(r"^[ \t]*package[ \t]+(?P<path>[^\s#;]+)", re.MULTILINE)
_KEY: Final = re.compile(r"[^A-Za-z0-9_]+")


def read_bundle(content: bytes) -> Suite:
    """Raises ValidationError, which names the member."""
    if len(content) > _BUNDLE_MAX_BYTES:
        raise ValidationError(f"the bundle is over {_BUNDLE_MAX_BYTES} bytes")
    policies: list[SuitePolicy] = []
    modules: list[tuple[str, str]] = []
    data: dict[str, JsonValue] = {}
    for name, text in _members(_unpacked(content)):
        if name.endswith(".rego") and not name.endswith("_test.rego"):
            _add_rego(name, text, policies, modules)
        elif posixpath.basename(name) == "data.json":
            _add_data(name, text, data)
    return Suite(tuple(policies), tuple(sorted(modules)), data)


def _unpacked(content: bytes) -> bytes:
    """Stops unpacking at the limit: a few kilobytes of gzip can hold gigabytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            unpacked = stream.read(_UNPACKED_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValidationError(f"the bundle is not a gzip file (RFC 1952): {error}") from error
    if len(unpacked) > _UNPACKED_MAX_BYTES:
        raise ValidationError(f"the bundle holds over {_UNPACKED_MAX_BYTES} bytes")
    return unpacked


def _members(unpacked: bytes) -> Iterator[tuple[str, str]]:
    """Regular files by name, in one order. Links, devices and names that leave the bundle are refused, not skipped,
    because their author meant them to have an effect."""
    found: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for count, member in enumerate(archive):
                if count >= _FILES_MAX:
                    raise ValidationError(f"the bundle has more than {_FILES_MAX} members")
                if member.isdir():
                    continue
                name = _name(member)
                if not name.endswith((".rego", "data.json")):
                    continue
                if member.size > _FILE_MAX_BYTES:
                    raise ValidationError(f"{name}: over {_FILE_MAX_BYTES} bytes")
                if name in found:
                    raise ValidationError(f"{name}: is in the bundle twice")
                file = archive.extractfile(member)
                found[name] = "" if file is None else file.read().decode()
    except (tarfile.TarError, UnicodeDecodeError, OSError, EOFError, ValueError) as error:
        raise ValidationError(f"the bundle cannot be read: {error}") from error
    yield from sorted(found.items())


def _name(member: tarfile.TarInfo) -> str:
    if not member.isreg():
        raise ValidationError(f"{member.name[:200]}: a bundle holds files and folders only, no links and no devices")
    name = posixpath.normpath(member.name.lstrip("/"))
    if name.startswith("..") or "\0" in name or "\\" in name or len(name) > 500:
        raise ValidationError(f"{member.name[:200]}: not a name inside the bundle")
    return name


def _add_rego(name: str, text: str, policies: list[SuitePolicy], modules: list[tuple[str, str]]) -> None:
    package = _PACKAGE.search(text)
    if package is None:
        raise ValidationError(f"{name}: no package")
    if len(text.encode()) > REGO_MAX_BYTES:
        raise ValidationError(f"{name}: over {REGO_MAX_BYTES} bytes")
    path = package["path"]
    if path.startswith("lib."):
        modules.append((f"{path.replace('.', '/')}.rego", text))
        return
    key = _KEY.sub("_", path).strip("_")
    if any(one.key == key for one in policies):
        raise ValidationError(f"{name}: another file of the bundle is in package {path} too; a policy is one file")
    policies.append(SuitePolicy(key=key, file=name, text=text, name=path))


def _add_data(name: str, text: str, data: dict[str, JsonValue]) -> None:
    """Each member of the root ``data.json`` is a document; a ``data.json`` in a folder is the document of that path."""
    try:
        document = parse_strict(text.encode())
    except ValidationError as error:
        raise ValidationError(f"{name}: {error.message}") from error
    folder = posixpath.dirname(name)
    if folder:
        data[parse_data_path(folder)] = document
        return
    if not isinstance(document, dict):
        raise ValidationError(f"{name}: an object is required")
    for member, value in document.items():
        data[parse_data_path(member)] = value


def shown_json(value: JsonValue) -> str:
    """The file form of a document."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
