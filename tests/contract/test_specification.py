"""Every row of the specification's tables of routes is an operation of the application, with the fields it names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from admin_api.app import create_app

TABLES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "specification.yaml").read_text("utf-8")
)
ROWS = [pytest.param(row, id=f"{row['method']} {row['path']}") for rows in TABLES.values() for row in rows]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(None).openapi()


def _operation(document: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """With the parameter's name left out: it is not part of the contract."""
    operations: dict[tuple[str, str], dict[str, Any]] = {
        (method.upper(), re.sub(r"{[^}]*}", "{}", path)): operation
        for path, found in document["paths"].items()
        for method, operation in found.items()
    }
    found = operations.get((row["method"], row["path"]))
    assert found is not None, "there is no such operation"
    return found


def _members(document: Mapping[str, Any], schema: Mapping[str, Any]) -> set[str]:
    """Of an object, whichever of several shapes it has."""
    return {name for one in _objects(document, schema) for name in one.get("properties", {})}


def _objects(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in schema:
        yield from _objects(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for several in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(several, []):
            yield from _objects(document, one)
    if "properties" in schema:
        yield schema


def _json(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _success(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    answers: Mapping[str, Any] = operation["responses"]
    found: Mapping[str, Any] = answers[min(status for status in answers if status < "300")]
    return found


@pytest.mark.parametrize("row", ROWS)
def test_the_row_is_an_operation(document: dict[str, Any], row: dict[str, Any]) -> None:
    operation = _operation(document, row)
    parameters = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    assert set(row.get("query", ())) <= parameters
    if "body" in row:
        assert set(row["body"]) <= _members(document, _json(operation["requestBody"]))
    if "answer" in row:
        assert set(row["answer"]) <= _members(document, _json(_success(operation)))
    if "status" in row:
        assert str(row["status"]) in operation["responses"]
    if "media" in row:
        assert row["media"] in _success(operation)["content"]
    for status, members in row.get("refusal", {}).items():
        assert set(members) <= _members(document, _json(operation["responses"][str(status)]))


def test_every_table_is_transcribed() -> None:
    assert [len(rows) for rows in TABLES.values()] == [5, 5, 1, 4, 8, 5, 8, 22, 17, 6, 4, 17]
