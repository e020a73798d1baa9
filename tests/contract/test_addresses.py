"""What every address answers: its methods, its parameters, and identifiers that name nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.kernel.public_roots import public_roots

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8"))
OPERATIONS = [
    pytest.param(method.upper(), path, operation, id=f"{method.upper()} {path}")
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
IDENTIFIER = re.compile(r"\^\((\w{3})_\)\?\[0-9a-f\]")
ABSENT = "00000000-0000-7000-8000-000000000000"
ENDLESS = ("/v1/approvals/events", "/v1/actions/events", "/admin/progress/events")
"""HEAD of them answers at once; GET is read in tests/integration/admin_api."""


@pytest.fixture(scope="module")
def client(api) -> Iterator[httpx.Client]:
    with httpx.Client(verify=public_roots(), base_url=api.url, trust_env=False, timeout=60) as made:
        yield made


def _inside(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one["schema"] for one in operation.get("parameters", []) if one["in"] == "path"}


def _is_identifier(schema: dict[str, Any]) -> bool:
    return IDENTIFIER.match(schema.get("pattern", "")) is not None


def _address(path: str, operation: dict[str, Any], *, malformed: str = "") -> str:
    """With identifiers that nobody has; ``malformed``: the parameter that is none."""
    inside = _inside(operation)

    def value(match: re.Match[str]) -> str:
        schema = inside[match[1]]
        if match[1] == malformed:
            return "no-such-thing"
        if _is_identifier(schema):
            return ABSENT
        return str(schema.get("examples", schema.get("enum", [1 if schema["type"] == "integer" else "absent"]))[0])

    return re.sub(r"{(\w+)}", value, path)


def _call(
    client: httpx.Client, api, method: str, address: str, operation: dict[str, Any], query: dict[str, str] | None = None
) -> httpx.Response:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = {"json": content["example"]} if "example" in content else {}
    headers = {"Authorization": f"Bearer {api.token}"} if operation["security"] else {}
    return client.request(method, address, headers=headers, params=query, **body)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_parameter_of_a_path_is_described(method: str, path: str, operation: dict[str, Any]) -> None:
    inside = _inside(operation)
    assert set(inside) == set(re.findall(r"{(\w+)}", path))
    for name, schema in inside.items():
        assert schema.keys() & {"pattern", "enum", "maximum", "maxLength"}, name
        if name == "id" or name.endswith("_id"):
            assert _is_identifier(schema), name


def test_what_is_named_in_one_way_has_one_kind_of_identifier() -> None:
    prefixes: dict[str, set[str]] = {}
    for _, path, operation in (one.values for one in OPERATIONS):
        for name, schema in _inside(operation).items():  # type: ignore[arg-type]
            if (match := IDENTIFIER.match(schema.get("pattern", ""))) is not None:
                collection = str(path).split(f"/{{{name}}}")[0].rpartition("/")[2]
                prefixes.setdefault(collection, set()).add(match[1])
    assert prefixes["users"] == {"usr"}
    several = {collection: found for collection, found in prefixes.items() if len(found) > 1}
    assert not several


WITH_IDENTIFIERS = [
    pytest.param(method, path, operation, name, id=f"{method} {path} {name}")
    for method, path, operation in (one.values for one in OPERATIONS)
    for name, schema in _inside(operation).items()  # type: ignore[arg-type]
    if _is_identifier(schema)
]


@pytest.mark.parametrize(("method", "path", "operation", "name"), WITH_IDENTIFIERS)
def test_an_identifier_that_names_nothing(
    client: httpx.Client, api, method: str, path: str, operation: dict[str, Any], name: str
) -> None:
    for address in (_address(path, operation, malformed=name), _address(path, operation)):
        query = {one["name"]: "1" for one in operation["parameters"] if one["in"] == "query" and one["required"]}
        answer = _call(client, api, method, address, operation, query)
        if answer.status_code in (400, 403) and address == _address(path, operation):
            continue  # the body's example, or who is no agent, is refused before the resource is looked for
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND"), answer.text


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_parameter_that_is_not_there_is_named(
    client: httpx.Client, api, method: str, path: str, operation: dict[str, Any]
) -> None:
    queries = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    answer = _call(client, api, method, _address(path, operation), operation, {"no_such": "1"})
    if "further" in queries:  # others write these answers
        assert "no_such" not in answer.text
        return
    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, "no_such"), answer.text
    if path not in ENDLESS and "limit" in queries:
        twice = client.get(
            f"{_address(path, operation)}?limit=1&limit=2", headers={"Authorization": f"Bearer {api.token}"}
        )
        assert (twice.status_code, twice.json()["error"]["details"]["field"]) == (400, "limit")


@pytest.mark.parametrize("path", DOCUMENT["paths"])
def test_methods(client: httpx.Client, path: str) -> None:
    """RFC 9110, sections 9.1, 9.3.7 and 10.2.1, without a credential."""
    operations = DOCUMENT["paths"][path]
    address = _address(path, next(iter(operations.values())))
    known = {method.upper() for method in operations} | {"OPTIONS"} | ({"HEAD"} if "get" in operations else set())
    asked = client.options(address)
    assert (asked.status_code, asked.content) == (200, b"")
    assert set(asked.headers["allow"].split(", ")) == known
    for method in {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "TRACE"} - known:
        answer = client.request(method, address)
        assert (answer.status_code, answer.headers["allow"]) == (405, asked.headers["allow"]), method


@pytest.mark.parametrize("path", [path for path, operations in DOCUMENT["paths"].items() if "get" in operations])
def test_head_is_get_without_its_content(client: httpx.Client, api, path: str) -> None:
    operation = DOCUMENT["paths"][path]["get"]
    address = _address(path, operation)
    headers = {"Authorization": f"Bearer {api.token}"} if operation["security"] else {}
    head = client.head(address, headers=headers)
    assert head.content == b""
    if path in ENDLESS:
        assert (head.status_code, head.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        return
    asked = client.get(address, headers=headers)
    assert (head.status_code, head.headers["content-type"]) == (asked.status_code, asked.headers["content-type"])
    # The connection goes on: nothing of the content is left in it.
    assert client.get("/health/live").json() == {"status": "ok"}


def test_there_is_nothing_at_an_unknown_path(client: httpx.Client) -> None:
    for method in ("GET", "HEAD", "OPTIONS", "POST"):
        answer = client.request(method, "/v1/no-such-route")
        assert (answer.status_code, "allow" in answer.headers) == (404, False)
