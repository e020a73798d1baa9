"""npm: documents of packages, tarballs, publishing and unpublishing (npm, "Public Registry API").

Names differ in upper and lower case: old packages have both.
"""

import re
from collections.abc import Sequence
from typing import Final

from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.member_names import refuse_other_spellings, spellings
from headgate.protocols.package import Ecosystem, PackageAction, PackageRequest, unreadable

_SCOPE: Final = re.compile(r"@[A-Za-z0-9~-][A-Za-z0-9._~-]*")
_NAME: Final = re.compile(r"[A-Za-z0-9~_][A-Za-z0-9._~-]*")
_VERSION: Final = re.compile(r"[A-Za-z0-9.+^~_-]{1,200}")
_DOCUMENT: Final = spellings("name", "_id", "_attachments", "versions", "version", "dist-tags")
_SPECIAL: Final = "-"
_QUESTIONS: Final = (["ping"], ["whoami"], ["v1", "search"])
_SLASH_OF_SCOPE: Final = re.compile(r"(/(?:@|%40)[^/%]+)%2[fF]")


def with_plain_scope(path: str) -> str:
    """``/@scope%2fname`` as ``/@scope/name``, which npm's client writes and its registry takes for the same."""
    return _SLASH_OF_SCOPE.sub(r"\1/", path, count=1)


def read(method: str, segments: Sequence[str], body: Body) -> PackageRequest | None:
    """``segments``: of the path, decoded. Raises AmbiguousRequestError: a package that cannot be read."""
    if segments and segments[0] == _SPECIAL:
        return _special(method, [*segments[1:]], body)
    name, rest = _named(segments)
    if name is None:
        return None
    match method, rest:
        case "GET", []:
            return _request(PackageAction.METADATA, name)
        case "GET", [version] if _VERSION.fullmatch(version) and version != _SPECIAL:
            return _request(PackageAction.METADATA, name, version)
        case "GET", ["-", file]:
            told = _version_of(name, file)
            return None if told is None else _request(PackageAction.INSTALL, name, told)
        case "PUT", []:
            return _published(name, body)
        case "PUT", ["-rev", _]:
            return _request(PackageAction.CHANGE, name)
        case "DELETE", ["-rev", _]:
            return _request(PackageAction.REMOVE, name)
        case "DELETE", ["-", file, "-rev", _]:
            told = _version_of(name, file)
            if told is None:
                raise unreadable(f"the file {file[:80]} is not one of {name}")
            return _request(PackageAction.REMOVE, name, told)
    return None


def _special(method: str, rest: Sequence[str], body: Body) -> PackageRequest | None:
    if method == "GET" and [*rest] in _QUESTIONS:
        return _request(PackageAction.METADATA, None)
    if not rest or rest[0] != "package":
        return None
    name, rest = _named(rest[1:])
    if name is None or rest[:1] != ["dist-tags"] or len(rest) > 2:
        return None
    if method == "GET" and len(rest) == 1:
        return _request(PackageAction.METADATA, name)
    if method in ("PUT", "POST", "DELETE"):
        version = body.value if isinstance(body.value, str) and method != "DELETE" else None
        return _request(PackageAction.CHANGE, name, version)
    return None


def _named(segments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The package's name, and what follows it."""
    match [*segments]:
        case [scope, name, *rest] if scope.startswith("@"):
            is_name = _SCOPE.fullmatch(scope) and _NAME.fullmatch(name)
            return (f"{scope}/{name}", rest) if is_name else (None, [])
        case [name, *rest] if _NAME.fullmatch(name):
            return name, rest
    return None, []


def _version_of(name: str, file: str) -> str | None:
    """Of a tarball, whose name begins with the package's, without its scope. None: it is another's."""
    beginning = name.rpartition("/")[2] + "-"
    version = file.removeprefix(beginning).removesuffix(".tgz")
    is_version = file == f"{beginning}{version}.tgz" and _VERSION.fullmatch(version) is not None
    return version if is_version else None


def _published(name: str, body: Body) -> PackageRequest:
    """The document with the tarball in it; without one it changes what is there, such as a deprecation."""
    document = body.value if body.kind is BodyKind.JSON and isinstance(body.value, dict) else None
    if document is None:
        raise unreadable("the package is no JSON object")
    refuse_other_spellings(document, _DOCUMENT, within="package's document")
    if {document.get("name"), document.get("_id", name)} != {name}:
        raise unreadable("its document names another package")
    attachments, versions = document.get("_attachments"), document.get("versions")
    if not attachments:
        return _request(PackageAction.CHANGE, name)
    if not isinstance(versions, dict) or len(versions) != 1:
        raise unreadable("it publishes not exactly one version")
    [(version, manifest)] = versions.items()
    refuse_other_spellings(manifest, _DOCUMENT, within="package's manifest")
    if not isinstance(manifest, dict) or not _is_of(manifest, name, version):
        raise unreadable("its manifest names another package or version")
    return _request(PackageAction.PUBLISH, name, version)


def _is_of(manifest: JsonObject, name: str, version: str) -> bool:
    is_same = manifest.get("name", name) == name and manifest.get("version", version) == version
    return is_same and _VERSION.fullmatch(version) is not None


def _request(action: PackageAction, name: str | None, version: str | None = None) -> PackageRequest:
    return PackageRequest(Ecosystem.NPM, action, name, version)
