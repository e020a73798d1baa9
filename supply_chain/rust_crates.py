"""The crates that the policy engine is linked from, as cargo resolves them for the platforms of its wheels."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from supply_chain.component import Component, Ecosystem, Use, reference
from supply_chain.floors import CARGO_LOCK, ROOT
from supply_chain.license_texts import texts_of
from supply_chain.licenses import Licenses

PLATFORMS: Final = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")


def rust_crates(licenses: Licenses, root: Path = ROOT) -> Iterator[Component]:
    """Without the engine itself. Crates for tests are left out, and those of other platforms. Raises
    CalledProcessError where cargo cannot read them, NoTextError."""
    asked = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", "regorus-py/Cargo.toml"]
    asked += [word for one in PLATFORMS for word in ("--filter-platform", one)]
    answer = json.loads(subprocess.run(asked, cwd=root, capture_output=True, check=True).stdout)
    packages = {one["id"]: one for one in answer["packages"]}
    nodes = {one["id"]: one["deps"] for one in answer["resolve"]["nodes"]}
    engine = answer["resolve"]["root"]
    linked = _reached(engine, nodes, packages, through_building=False)
    digests = _digests(root)
    for one in _reached(engine, nodes, packages, through_building=True) - {engine}:
        made = _component(packages[one], nodes[one], packages, licenses, is_linked=one in linked)
        yield replace(made, digest=("SHA-256", digests[made.name, made.version]))


def _digests(root: Path) -> dict[tuple[str, str], str]:
    """Of the packages as the registry has them; what lies here has none."""
    locked = tomllib.loads((root / CARGO_LOCK).read_text("utf-8"))["package"]
    return {(one["name"], one["version"]): one["checksum"] for one in locked if "checksum" in one}


def _reached(start: str, nodes: dict[str, Any], packages: dict[str, Any], *, through_building: bool) -> set[str]:
    found, open_ = set(), [start]
    while open_:
        one = open_.pop()
        if one in found or (not through_building and _is_macro(packages[one])):
            continue
        found.add(one)
        kinds = {None, "build"} if through_building else {None}
        open_ += [to["pkg"] for to in nodes[one] if any(way["kind"] in kinds for way in to["dep_kinds"])]
    return found


def _is_macro(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _component(
    package: dict[str, Any], requires: list[Any], packages: dict[str, Any], licenses: Licenses, *, is_linked: bool
) -> Component:
    name, expression = package["name"], package["license"].replace("/", " OR ")
    folder = Path(package["manifest_path"]).parent
    authors = ", ".join(one.partition(" <")[0] for one in package["authors"])
    needed = {to["pkg"] for to in requires if any(way["kind"] != "dev" for way in to["dep_kinds"])}
    return Component(
        Ecosystem.RUST,
        name,
        package["version"],
        expression,
        Use.SHIPPED if is_linked else Use.BUILDING,
        requires=tuple(
            sorted(reference(Ecosystem.RUST, packages[one]["name"], packages[one]["version"]) for one in needed)
        ),
        texts=texts_of(folder, expression, name, authors, licenses.rust_texts.get(name)) if is_linked else (),
    )
