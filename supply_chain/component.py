"""What Headgate is made of besides its own code: one frozen type for packages of every ecosystem."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Ecosystem(StrEnum):
    """The type of a package URL (https://github.com/package-url/purl-spec)."""

    PYTHON = "pypi"
    RUST = "cargo"
    NPM = "npm"
    GENERIC = "generic"


class Use(StrEnum):
    SHIPPED = "shipped"
    OPTIONAL = "optional"
    """Of an extra."""
    BUILDING = "building"
    """Runs while the engine is compiled, and is no part of it."""


@dataclass(frozen=True, slots=True)
class LicenseText:
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Component:
    """``license``: an SPDX expression. ``digest``: algorithm of CycloneDX (SHA-256, SHA-512) and hexadecimal digits.
    ``requires``: the references of others. ``texts``: what its license says, where we pass the package on ourselves."""

    ecosystem: Ecosystem
    name: str
    version: str
    license: str
    use: Use = Use.SHIPPED
    digest: tuple[str, str] | None = None
    requires: tuple[str, ...] = ()
    texts: tuple[LicenseText, ...] = ()

    @property
    def reference(self) -> str:
        return reference(self.ecosystem, self.name, self.version)


def reference(ecosystem: Ecosystem, name: str, version: str) -> str:
    """A package URL, which is the component's reference in the bill of materials too."""
    return f"pkg:{ecosystem.value}/{name.replace('@', '%40')}@{version}"


def in_order(components: Iterable[Component]) -> tuple[Component, ...]:
    return tuple(sorted(components, key=lambda one: (one.ecosystem.value, one.name, one.version)))
