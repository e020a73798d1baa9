"""The committed notices and the bill of materials say what the locks install."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.spdx import is_expression, is_supported_id
from cyclonedx.validation.json import JsonStrictValidator

from supply_chain.component import Component, Ecosystem, Use
from supply_chain.floors import read_locks
from supply_chain.inventory import inventory
from supply_chain.licenses import read_licenses
from supply_chain.notice import notices
from supply_chain.python_packages import LOCKS
from supply_chain.sbom import bill_of_materials, made_at, own_requirements

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def components() -> tuple[Component, ...]:
    return inventory()


@pytest.fixture(scope="module")
def bill(components: tuple[Component, ...]) -> str:
    version, direct, crates = own_requirements()
    return bill_of_materials(
        components, direct, crates, read_licenses().carried, version, datetime(2026, 1, 1, tzinfo=UTC)
    )


def test_the_committed_notices_are_those_of_the_locks(components: tuple[Component, ...]) -> None:
    for name, text in notices(components, read_licenses()).items():
        assert (ROOT / name).read_text("utf-8") == text, f"{name}: run make notice"
    assert (ROOT / "regorus-py" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_license_is_one_of_spdx(components: tuple[Component, ...]) -> None:
    assert [one.name for one in components if not (is_supported_id(one.license) or is_expression(one.license))] == []


def test_nothing_that_the_locks_install_is_missing(components: tuple[Component, ...]) -> None:
    listed = {(one.ecosystem, one.name, one.version) for one in components}
    locks = "".join((ROOT / lock).read_text() for lock in LOCKS)
    unmarked = re.findall(r"^([\w.-]+)==(\S+) \\$", locks, re.MULTILINE)
    assert len(unmarked) > 100
    assert {(Ecosystem.PYTHON, name, version) for name, version in unmarked} <= listed
    engine = {(one.name, one.version) for one in components if one.ecosystem is Ecosystem.RUST}
    locked = {(one.package, one.version) for one in read_locks() if one.ecosystem == "rust"}
    assert engine <= locked
    assert {"regorus", "pyo3", "regorus-mimalloc-sys"} <= {name for name, _ in engine}
    assert (Ecosystem.NPM, "esbuild") not in {(one.ecosystem, one.name) for one in components}


def test_what_only_builds_is_told_from_what_is_linked(components: tuple[Component, ...]) -> None:
    use = {one.name: one.use for one in components if one.ecosystem is Ecosystem.RUST}
    assert (use["cc"], use["syn"], use["regorus"]) == (Use.BUILDING, Use.BUILDING, Use.SHIPPED)
    assert all(not one.texts for one in components if one.use is Use.BUILDING)


def test_the_bill_of_materials_follows_its_schema(bill: str) -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    assert error is None, str(error)[:500]


def test_the_bill_of_materials_leads_from_headgate_to_everything_that_is_shipped(
    bill: str, components: tuple[Component, ...]
) -> None:
    document: dict[str, Any] = json.loads(bill)
    leads = {one["ref"]: one.get("dependsOn", []) for one in document["dependencies"]}
    reached, open_ = set(), [document["metadata"]["component"]["bom-ref"]]
    while open_:
        one = open_.pop()
        if one not in reached:
            reached.add(one)
            open_ += leads[one]
    assert {one.reference for one in components if one.use is Use.SHIPPED} - reached == set()
    scopes = {one["bom-ref"]: one.get("scope") for one in document["components"]}
    assert scopes["headgate-regorus"] is None
    assert scopes[next(one.reference for one in components if one.name == "cc")] == "excluded"
    assert scopes[next(one.reference for one in components if one.name == "onnxruntime")] == "optional"
    hashed = [one for one in document["components"] if one["bom-ref"].startswith(("pkg:cargo", "pkg:npm"))]
    assert all(one["hashes"] for one in hashed)


def test_the_same_locks_give_the_same_bill(bill: str, components: tuple[Component, ...]) -> None:
    version, direct, crates = own_requirements()
    again = bill_of_materials(components, direct, crates, read_licenses().carried, version, made_at("1767225600"))
    assert again == bill
