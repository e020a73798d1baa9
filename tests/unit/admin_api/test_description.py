"""Every operation says what it does, who may call it, what it refuses, and how its body looks."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text("utf-8"))
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method.upper()} {path}")
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]


def _resolved(answer: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in answer:
        return answer
    found: dict[str, Any] = DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    return found


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_operation_is_described(method: str, path: str, operation: dict[str, Any]) -> None:
    assert operation.get("summary"), "no summary"
    assert len(operation.get("description", "")) >= 10, "the route's function needs a docstring"
    assert operation["tags"], "no tag"
    assert "security" in operation
    answers = {status: _resolved(answer) for status, answer in operation["responses"].items()}
    assert all(answer["description"] for answer in answers.values())
    refusals = {status for status in operation["responses"] if status >= "400"}
    assert {"500", "503"} <= refusals
    if operation["security"]:
        assert {"401", "403"} <= refusals
    if "{" in path:
        assert "404" in refusals
    if "requestBody" in operation or operation.get("parameters"):
        assert "400" in refusals
    assert "422" not in operation["responses"]
    for status in refusals - {"503"}:
        # A person who follows a link is told in a page.
        assert answers[status]["content"].keys() & {"application/json", "text/html"}


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [one for one in OPERATIONS if "requestBody" in one.values[2]],  # type: ignore[operator]
)
def test_the_example_of_a_body_is_one(method: str, path: str, operation: dict[str, Any]) -> None:
    for content in operation["requestBody"]["content"].values():
        if "schema" not in content:
            continue
        schema = {**content["schema"], "components": DOCUMENT["components"]}
        jsonschema.Draft202012Validator(schema).validate(content["example"])


def test_operation_identifiers_are_unique() -> None:
    found = [operation.values[2]["operationId"] for operation in OPERATIONS]  # type: ignore[index]
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", one) for one in found), found


def test_the_document_says_whose_where_and_what_for() -> None:
    summaries = [operation.values[2]["summary"] for operation in OPERATIONS]  # type: ignore[index]
    assert len(summaries) == len(set(summaries))
    assert DOCUMENT["servers"] and DOCUMENT["info"]["license"]["identifier"] == "Apache-2.0"
    used = {tag for operation in OPERATIONS for tag in operation.values[2]["tags"]}  # type: ignore[index]
    assert {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]} == used
    assert "approval.created" in DOCUMENT["webhooks"]
