"""What a request to a package index is about: the package, its version, and what becomes of it."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import Effect

PACKAGE: Final = "package"
"""The member of the policies' input, and the beginning of each operation."""


class Ecosystem(StrEnum):
    CARGO = "cargo"
    GO = "go"
    MAVEN = "maven"
    NPM = "npm"
    PYPI = "pypi"


class PackageAction(StrEnum):
    """``METADATA``: what versions there are, and what they need. ``INSTALL``: the file that is installed. ``CHANGE``:
    tags, owners, deprecation. ``REMOVE``: unpublish and yank."""

    METADATA = "metadata"
    INSTALL = "install"
    PUBLISH = "publish"
    CHANGE = "change"
    REMOVE = "remove"


_EFFECTS: Final = MappingProxyType(
    {
        PackageAction.METADATA: Effect.READ,
        PackageAction.INSTALL: Effect.READ,
        PackageAction.PUBLISH: Effect.WRITE,
        PackageAction.CHANGE: Effect.WRITE,
        PackageAction.REMOVE: Effect.DESTRUCTIVE,
    }
)


class PackageRequest(Struct, frozen=True):
    """``name``: normalised by the ecosystem's rule; None: of no one package. ``version`` None: of none, or of all."""

    ecosystem: Ecosystem
    action: PackageAction
    name: str | None = None
    version: str | None = None

    @property
    def operation(self) -> str:
        return f"{PACKAGE}_{self.action}"

    @property
    def effect(self) -> Effect:
        return _EFFECTS[self.action]

    @property
    def facts(self) -> JsonObject:
        """What policies read as ``input.package``."""
        return {"ecosystem": self.ecosystem, "action": self.action, "name": self.name, "version": self.version}


def unreadable(reason: str) -> AmbiguousRequestError:
    """What the index may read, and Headgate does not."""
    return AmbiguousRequestError(
        f"the request to the package index can be read in more than one way: {reason}", details={"field": "body"}
    )
