"""The Python packages that the locks install on Linux, with the licenses that their metadata name."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from importlib import metadata
from pathlib import Path
from typing import Final

from cyclonedx.spdx import fixup_id, is_expression
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply_chain.component import Component, Ecosystem, Use, reference
from supply_chain.floors import ROOT
from supply_chain.licenses import Licenses

LOCKS: Final = {
    "requirements.lock": Use.SHIPPED,
    "requirements-embedded.lock": Use.SHIPPED,
    "requirements-awskms.lock": Use.OPTIONAL,
    "requirements-classifier.lock": Use.OPTIONAL,
    "requirements-notifications.lock": Use.OPTIONAL,
    "requirements-opentelemetry.lock": Use.OPTIONAL,
    "requirements-reports.lock": Use.OPTIONAL,
}
_LOCKED: Final = re.compile(r"^([A-Za-z0-9][\w.-]*==[^\\\n]*)", re.MULTILINE)
_ENVIRONMENT: Final[dict[str, str]] = {
    **{name: str(value) for name, value in default_environment().items()},
    **{"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    **{"python_version": "3.12", "python_full_version": "3.12.0"},
}
"""Whichever Python this is, the list is the one of the lowest that Headgate runs on."""


class UnknownLicenseError(Exception):
    """Neither the metadata of a package nor licenses.yaml names a license in SPDX's terms."""


def python_packages(licenses: Licenses, root: Path = ROOT) -> Iterator[Component]:
    """Those whose markers hold on Linux, read from the installed packages. Raises UnknownLicenseError, and
    PackageNotFoundError for one that is not installed and whose license nobody named."""
    locked = dict(reversed(list(_locked(root))))  # of a package in two locks, the use of the first
    extras = _extras(root)
    for name, (version, use) in locked.items():
        needed = {canonicalize_name(one.name) for one in _required(name, extras[name])}
        requires = (reference(Ecosystem.PYTHON, one, locked[one][0]) for one in sorted(needed) if one in locked)
        yield Component(Ecosystem.PYTHON, name, version, _license(name, licenses), use, requires=tuple(requires))


def _locked(root: Path) -> Iterator[tuple[str, tuple[str, Use]]]:
    for lock, use in LOCKS.items():
        for line in _LOCKED.findall((root / lock).read_text("utf-8")):
            requirement = Requirement(line.strip())
            if requirement.marker is None or requirement.marker.evaluate(_ENVIRONMENT):
                yield canonicalize_name(requirement.name), (str(requirement.specifier).removeprefix("=="), use)


def _extras(root: Path) -> Mapping[str, Set[str]]:
    """Which extras of each package anybody asks for: a lock does not say."""
    found: dict[str, set[str]] = defaultdict(set)
    seen: set[str] = set()
    open_ = [Requirement(line) for lock in LOCKS for line in asked_in(root / lock.replace(".lock", ".in"))]
    while open_:
        one = open_.pop()
        name = canonicalize_name(one.name)
        if name in seen and one.extras <= found[name]:
            continue
        seen.add(name)
        found[name] |= one.extras
        open_ += _required(name, found[name])
    return found


def asked_in(file: Path) -> list[str]:
    """The requirements of a requirements*.in."""
    return [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith(("#", "-c "))]


def _required(name: str, extras: Set[str]) -> list[Requirement]:
    try:
        requirements = [Requirement(line) for line in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:  # of an older Python than this; licenses.yaml has to name its license
        return []
    return [
        one
        for one in requirements
        if one.marker is None or any(one.marker.evaluate(_ENVIRONMENT | {"extra": extra}) for extra in ("", *extras))
    ]


def _license(name: str, licenses: Licenses) -> str:
    if name in licenses.python:
        return licenses.python[name]
    described = metadata.metadata(name)
    for field in ("License-Expression", "License"):
        said = described.get(field, "").strip()
        if found := fixup_id(said) or (said if is_expression(said) else None):
            return found
    raise UnknownLicenseError(
        f"{name}: its metadata name no SPDX license. Read its license file, and add it to {licenses.file}"
    )
