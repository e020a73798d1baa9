"""Go: a module proxy (Go Modules Reference, "GOPROXY protocol"). Names are module paths, case and all."""

import re
from collections.abc import Sequence
from typing import Final

from headgate.protocols.package import Ecosystem, PackageAction, PackageRequest

_ESCAPED: Final = re.compile(r"(?:[a-z0-9._~+-]|![a-z])+")
_UPPER: Final = re.compile(r"!([a-z])")
_FILE: Final = re.compile(r"(?P<version>.+)\.(?P<kind>info|mod|zip)")


def read(method: str, segments: Sequence[str]) -> PackageRequest | None:
    """``segments``: of the path, decoded."""
    if method != "GET":
        return None
    match [*segments]:
        case ["sumdb", _, *_]:
            return PackageRequest(Ecosystem.GO, PackageAction.METADATA)
        case [*module, "@latest"]:
            return _request(PackageAction.METADATA, module, None)
        case [*module, "@v", "list"]:
            return _request(PackageAction.METADATA, module, None)
        case [*module, "@v", file] if (found := _FILE.fullmatch(file)) is not None:
            action = PackageAction.INSTALL if found["kind"] == "zip" else PackageAction.METADATA
            return _request(action, module, found["version"])
    return None


def _request(action: PackageAction, module: Sequence[str], version: str | None) -> PackageRequest | None:
    """None: a path or version that is not escaped as the protocol says, such as one with upper-case letters."""
    parts = [*module, *([] if version is None else [version])]
    if not module or any(_ESCAPED.fullmatch(part) is None for part in parts):
        return None
    plain = [_UPPER.sub(lambda found: found[1].upper(), part) for part in parts]
    name = "/".join(plain[: len(module)])
    return PackageRequest(Ecosystem.GO, action, name, None if version is None else plain[-1])
