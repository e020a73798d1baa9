"""``make sbom``: the software bill of materials, as CycloneDX 1.6 (ECMA-424): ``python -m supply_chain.sbom > FILE``.

The same locks give the same document: its serial number is made from what it lists, its date is SOURCE_DATE_EPOCH's
where that is set.
"""

import os
import sys
import tomllib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component as Listed
from cyclonedx.model.component import ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply_chain.component import Component, Ecosystem, Use
from supply_chain.floors import ROOT
from supply_chain.inventory import inventory
from supply_chain.licenses import Carried, read_licenses
from supply_chain.python_packages import LOCKS, asked_in

_SCOPES: Final = {
    Use.SHIPPED: ComponentScope.REQUIRED,
    Use.OPTIONAL: ComponentScope.OPTIONAL,
    Use.BUILDING: ComponentScope.EXCLUDED,
}


def bill_of_materials(
    components: Iterable[Component],
    direct: Iterable[str],
    crates: Iterable[str],
    carried: Iterable[Carried],
    version: str,
    made_at: datetime,
) -> str:
    """``direct`` and ``crates``: names of the packages that Headgate and its engine ask for themselves."""
    components = tuple(components)
    listed = {one.reference: _listed(one) for one in components}
    named = {(one.ecosystem, one.name): listed[one.reference] for one in components}
    engine = _own("headgate-regorus", version)
    bom = Bom(components=[*listed.values(), engine])
    bom.metadata.component = _own("headgate", version)
    bom.metadata.timestamp = made_at
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join([version, *sorted(listed)]))
    editor = [listed[one.reference] for one in components if one.ecosystem is Ecosystem.NPM]
    asked = [named[Ecosystem.PYTHON, name] for name in direct]
    bom.register_dependency(bom.metadata.component, [engine, *asked, *editor])
    bom.register_dependency(engine, [named[Ecosystem.RUST, name] for name in crates])
    brought = {one.package: named[Ecosystem.GENERIC, one.name] for one in carried}
    for one in components:
        needs = [listed[other] for other in one.requires if other in listed]
        if one.ecosystem is Ecosystem.PYTHON and one.name in brought:
            needs.append(brought[one.name])
        bom.register_dependency(listed[one.reference], needs)
    return JsonV1Dot6(bom).output_as_string(indent=2)


def _listed(one: Component) -> Listed:
    hashes = [] if one.digest is None else [HashType(alg=HashAlgorithm(one.digest[0]), content=one.digest[1])]
    return Listed(
        type=ComponentType.APPLICATION if one.ecosystem is Ecosystem.GENERIC else ComponentType.LIBRARY,
        name=one.name,
        version=one.version,
        bom_ref=one.reference,
        purl=PackageURL.from_string(one.reference),
        licenses=[LicenseFactory().make_from_string(one.license)],
        scope=_SCOPES[one.use],
        hashes=hashes,
    )


def _own(name: str, version: str) -> Listed:
    return Listed(
        type=ComponentType.APPLICATION if name == "headgate" else ComponentType.LIBRARY,
        name=name,
        version=version,
        bom_ref=name,
        purl=PackageURL("pypi", name=name, version=version),
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
    )


def made_at(epoch: str | None) -> datetime:
    """``epoch``: seconds, as reproducible builds give them."""
    return datetime.now(UTC) if not epoch else datetime.fromtimestamp(int(epoch), UTC)


def own_requirements(root: Path = ROOT) -> tuple[str, list[str], list[str]]:
    """Our version, and the names that the wheel, its extras and Cargo.toml ask for."""
    version: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    lines = [line for lock in LOCKS for line in asked_in(root / lock.replace(".lock", ".in"))]
    direct: list[str] = [canonicalize_name(Requirement(line).name) for line in lines]
    asked = tomllib.loads((root / "regorus-py" / "Cargo.toml").read_text("utf-8"))["dependencies"]
    crates = [one.get("package", name) if isinstance(one, dict) else name for name, one in asked.items()]
    return version, direct, crates


def main() -> int:
    licenses = read_licenses()
    version, direct, crates = own_requirements()
    moment = made_at(os.environ.get("SOURCE_DATE_EPOCH"))
    sys.stdout.write(bill_of_materials(inventory(licenses), direct, crates, licenses.carried, version, moment) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
