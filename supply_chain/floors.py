"""The committed floors: locked versions that a known advisory names, found without asking anybody."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from packaging.version import Version

ROOT: Final = Path(__file__).resolve().parent.parent
PYTHON_LOCKS: Final = (
    "requirements.lock",
    "requirements-awskms.lock",
    "requirements-classifier.lock",
    "requirements-embedded.lock",
    "requirements-notifications.lock",
    "requirements-opentelemetry.lock",
    "requirements-reports.lock",
    "requirements-dev.lock",
    "requirements-frameworks.lock",
    "requirements-fuzz.lock",
    "requirements-site.lock",
    "requirements-wheels.lock",
)
CARGO_LOCK: Final = "regorus-py/Cargo.lock"
FLOORS: Final = "supply_chain/floors.yaml"

_PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Locked:
    """One package at one version, and the lock that pins it. ``ecosystem`` is ``python`` or ``rust``."""

    ecosystem: str
    package: str
    version: str
    lock: str


@dataclass(frozen=True, slots=True)
class Floor:
    """The lowest version of a package that no known advisory names, and the advisories."""

    ecosystem: str
    package: str
    lowest_safe: str
    advisory: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A locked version that an advisory names. ``fixed_in`` is empty where no version is fixed."""

    locked: Locked
    fixed_in: str
    advisory: str

    def __str__(self) -> str:
        mend = f"lock {self.fixed_in} or later" if self.fixed_in else "no fixed version is known"
        return f"{self.locked.lock}: {self.locked.package} {self.locked.version} has {self.advisory}; {mend}"


def read_floors(root: Path = ROOT) -> tuple[Floor, ...]:
    """The rows of ``supply_chain/floors.yaml``. Raises ``TypeError`` where a row has other members."""
    rows = yaml.safe_load((root / FLOORS).read_text())
    return tuple(Floor(ecosystem, **row) for ecosystem, of_one in rows.items() for row in of_one)


def read_locks(root: Path = ROOT) -> Iterator[Locked]:
    """Every pinned package of every lock, in the order of the files."""
    for lock in PYTHON_LOCKS:
        for package, version in _PINNED.findall((root / lock).read_text()):
            yield Locked("python", package.lower(), version, lock)
    for package in tomllib.loads((root / CARGO_LOCK).read_text())["package"]:
        if "source" in package:
            yield Locked("rust", package["name"], package["version"], CARGO_LOCK)


def below_floors(locked: Iterable[Locked], floors: Iterable[Floor]) -> Iterator[Finding]:
    """What is locked below its floor."""
    by_package = {(floor.ecosystem, floor.package): floor for floor in floors}
    for one in locked:
        floor = by_package.get((one.ecosystem, one.package))
        if floor is not None and Version(one.version) < Version(floor.lowest_safe):
            yield Finding(one, floor.lowest_safe, floor.advisory)
