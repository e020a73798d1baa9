"""``make notice``: what Headgate and its engine pass on of others, under which licenses: ``NOTICE`` and
``regorus-py/NOTICE``. A test compares both with what the locks say."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from supply_chain.component import Component, Ecosystem, Use
from supply_chain.floors import ROOT
from supply_chain.inventory import inventory
from supply_chain.licenses import Data, Licenses, read_licenses

_LINE: Final = "-" * 100
_PROGRAM: Final = """\
Headgate is licensed under the Apache License, Version 2.0: see LICENSE. Below is what others have made of it, with
licenses in SPDX's terms. make notice writes this file from the locks.
"""
_ENGINE: Final = """\
The policy engine of Headgate is licensed under the Apache License, Version 2.0. It is linked from the crates below. A
crate that offers that license is used under it; the license texts of the others follow. make notice writes this file
from Cargo.lock.
"""


def notices(components: Iterable[Component], licenses: Licenses) -> dict[str, str]:
    """Text by file."""
    by_ecosystem: dict[Ecosystem, list[Component]] = {one: [] for one in Ecosystem}
    for component in components:
        if component.use is not Use.BUILDING:
            by_ecosystem[component.ecosystem].append(component)
    python, crates = by_ecosystem[Ecosystem.PYTHON], by_ecosystem[Ecosystem.RUST]
    editor, servers = by_ecosystem[Ecosystem.NPM], by_ecosystem[Ecosystem.GENERIC]
    extra = [one for one in python if one.use is Use.OPTIONAL]
    program = [
        _PROGRAM,
        _section("Python packages, installed beside Headgate", _table([one for one in python if one not in extra])),
        _section("Python packages of extras: awskms, classifier, notifications, opentelemetry, reports", _table(extra)),
        _section("Programs that Python packages carry", _table(servers)),
        _section("Crates in the policy engine", "See NOTICE of headgate-regorus (regorus-py/NOTICE).\n"),
        _section("Packages bundled into the dashboard's editor (admin_api/static/editor.js)", _table(editor)),
        _section("Data, each file with its license", _data(licenses.data)),
        *_texts(editor),
    ]
    engine = [_ENGINE, _section("Crates", _table(crates)), *_texts(crates)]
    return {"NOTICE": "\n".join(program), "regorus-py/NOTICE": "\n".join(engine)}


def _section(title: str, text: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n{text}"


def _table(components: Sequence[Component]) -> str:
    width = max(len(one.name) + len(one.version) for one in components) + 3
    return "".join(f"{f'{one.name} {one.version}':{width}}{one.license}\n" for one in components)


def _data(data: Iterable[Data]) -> str:
    return "".join(f"{one.path}: {one.origin}, {one.license}\n" for one in data)


def _texts(components: Iterable[Component]) -> Iterator[str]:
    """Each text once, after the packages that bring it."""
    of: dict[str, list[str]] = {}
    for one in components:
        for text in one.texts:
            of.setdefault(text.text, []).append(f"{one.name} {one.version} ({text.file})")
    for content, names in of.items():
        yield f"{_LINE}\n{', '.join(names)}\n{_LINE}\n\n{content}"


def write(root: Path = ROOT) -> None:
    licenses = read_licenses()
    for name, text in notices(inventory(licenses, root), licenses).items():
        (root / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write()
    sys.exit(0)
