"""The lists of the detectors' tables have no entry twice, which would hide what a change takes away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.configuration.yaml_document import read_document
from headgate.kernel.canonical_json import JsonValue

_TABLES = sorted((Path(__file__).parents[3] / "config" / "detectors").glob("*.yaml"))


def _repeated(value: JsonValue, where: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _repeated(member, f"{where}.{name}")
    elif isinstance(value, list):
        for at, member in enumerate(value):
            if isinstance(member, str) and member in value[:at]:
                yield where, member
            yield from _repeated(member, f"{where}[{at}]")


def test_an_entry_that_stands_twice_is_named() -> None:
    assert [*_repeated({"lists": [["a", "b"], ["c", "a", "c"]]}, "$")] == [("$.lists[1]", "c")]


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: table.stem)
def test_no_entry_stands_twice(table: Path) -> None:
    assert [*_repeated(dict(read_document(table).members), "$")] == []
