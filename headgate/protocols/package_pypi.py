"""Python: the simple index (PEP 503, PEP 691), files, and uploads (PyPI, "Upload API").

Names are compared as PEP 503 says. The names of files: PEP 427 (wheels), PEP 625 (source distributions).
"""

import re
from collections.abc import Sequence
from typing import Final

from headgate.protocols.body import Body, BodyKind
from headgate.protocols.package import Ecosystem, PackageAction, PackageRequest, unreadable

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION: Final = re.compile(r"[A-Za-z0-9.!+_*-]{1,200}")
_SEPARATORS: Final = re.compile(r"[-_.]+")
_WHEEL: Final = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_SOURCE: Final = re.compile(r"(?P<name>.+)-(?P<version>[0-9][^-]*)\.(?:tar\.gz|zip|tar\.bz2|tgz)")
_BESIDE: Final = (".metadata", ".asc", ".sig", ".provenance")
_UPLOAD: Final = "file_upload"


def normalise(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def read(method: str, segments: Sequence[str], body: Body) -> PackageRequest | None:
    """``segments``: of the path, decoded. Raises AmbiguousRequestError: an upload that cannot be read."""
    if method == "POST":
        return _upload(body)
    if method != "GET":
        return None
    match segments:
        case [*_, "simple"]:
            return PackageRequest(Ecosystem.PYPI, PackageAction.METADATA)
        case [*_, "simple", name] if _NAME.fullmatch(name):
            return PackageRequest(Ecosystem.PYPI, PackageAction.METADATA, normalise(name))
        case [*_, "pypi", name, "json"] if _NAME.fullmatch(name):
            return PackageRequest(Ecosystem.PYPI, PackageAction.METADATA, normalise(name))
        case [*_, "pypi", name, version, "json"] if _NAME.fullmatch(name) and _VERSION.fullmatch(version):
            return PackageRequest(Ecosystem.PYPI, PackageAction.METADATA, normalise(name), version)
        case [*_, file]:
            return _file(file)
    return None


def _file(file: str) -> PackageRequest | None:
    beside = next((ending for ending in _BESIDE if file.endswith(ending)), "")
    found = file_of(file.removesuffix(beside))
    action = PackageAction.METADATA if beside else PackageAction.INSTALL
    return None if found is None else PackageRequest(Ecosystem.PYPI, action, *found)


def file_of(file: str) -> tuple[str, str] | None:
    """Normalised name and version in a file's name; None: no name of a distribution."""
    match = _WHEEL.fullmatch(file) or _SOURCE.fullmatch(file)
    if match is None or not _NAME.fullmatch(match["name"]) or not _VERSION.fullmatch(match["version"]):
        return None
    return normalise(match["name"]), match["version"]


def _upload(body: Body) -> PackageRequest | None:
    if body.kind is not BodyKind.MULTIPART:
        return None
    fields: dict[str, list[object]] = {}
    for name, value in body.pairs:
        fields.setdefault(name.lower(), []).append(value)
    if fields.get(":action") != [_UPLOAD]:
        return None
    names, versions, contents = (fields.get(one, []) for one in ("name", "version", "content"))
    if len(names) != 1 or len(versions) != 1 or len(contents) != 1:
        raise unreadable("the upload has not exactly one name, version and content")
    name, version, content = str(names[0]), str(versions[0]), contents[0]
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version) or not isinstance(content, dict):
        raise unreadable("the upload names no package, version and file")
    told = file_of(str(content.get("filename")))
    if told is None or told[0] != normalise(name):
        raise unreadable("the file's name is not that of the package")
    return PackageRequest(Ecosystem.PYPI, PackageAction.PUBLISH, normalise(name), version)
