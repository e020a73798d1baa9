"""What every operation does with requests that nobody should send: no credential, too few rights, bodies that are too
deep, too large, not JSON, or hold what no text may."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from admin_api.access import access_of
from headgate.kernel.public_roots import public_roots

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8"))
OPERATIONS = [
    pytest.param(method.upper(), path, operation, id=f"{method.upper()} {path}")
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
WITH_BODY = [
    one
    for one in OPERATIONS
    if "application/json" in one.values[2].get("requestBody", {}).get("content", {})  # type: ignore[attr-defined]
]
ABSENT = "act_00000000-0000-7000-8000-000000000000"
MEBIBYTE = 1024 * 1024
BODIES = {
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "too large": b'{"name":"' + b"x" * MEBIBYTE + b'"}',
    "long": b'{"name":"' + b"x" * (MEBIBYTE - 100) + b'","reason":"' + b"y" * 20 + b'"}',
    "not JSON": b"name=x",
    "twice": b'{"name":"a","name":"b"}',
    "surrogate": b'{"name":"\\ud800"}',
    "not a number": b'{"limit":NaN}',
    "huge number": b'{"limit":1' + b"0" * 400 + b"}",
    "nul": b'{"name":"\\u0000","reason":"\\u0000"}',
    "unknown": b'{"no_such_field":true}',
    "list": b"[]",
    "null": b"null",
    "nothing": b"",
}


@pytest.fixture(scope="module")
def client(api) -> Iterator[httpx.Client]:
    with httpx.Client(verify=public_roots(), base_url=api.url, trust_env=False, timeout=60) as made:
        yield made


def _path(path: str) -> str:
    return re.sub(r"{[^}]*}", ABSENT, path)


def _refusal(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert error["requestId"] == answer.headers["x-request-id"]
    return error


@pytest.mark.parametrize(("method", "path", "operation"), [one for one in OPERATIONS if one.values[2]["security"]])  # type: ignore[index]
def test_nobody_and_who_may_not(client: httpx.Client, api, method: str, path: str, operation: dict[str, Any]) -> None:
    nobody = client.request(method, _path(path))
    assert (nobody.status_code, _refusal(nobody)["code"]) == (401, "UNAUTHORIZED")
    assert "www-authenticate" in nobody.headers
    for wrong in ("Bearer x", "Bearer hg_" + "0" * 49, "Basic eDp5", "Bearer " + "a.b.c", "Bearer " + "x" * 20_000):
        assert client.request(method, _path(path), headers={"Authorization": wrong}).status_code in (401, 431), wrong[
            :20
        ]
    scope = access_of(method, path).scope
    if scope is not None:
        answer = client.request(method, _path(path), headers={"Authorization": f"Bearer {api.nobodys_token}"})
        assert answer.status_code == 403
        assert _refusal(answer)["details"]["missing_scope"] == scope.value
        assert scope.value in _refusal(answer)["message"]


@pytest.mark.parametrize(("method", "path", "operation"), WITH_BODY)
def test_bodies(client: httpx.Client, api, method: str, path: str, operation: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
    documented = {int(status) for status in operation["responses"]}
    for name, body in BODIES.items():
        answer = client.request(method, _path(path), headers=headers, content=body)
        assert answer.status_code < 500, f"{name}: {answer.text[:300]}"
        assert answer.status_code in documented, f"{name}: {answer.status_code}"
        if name == "too large":
            assert answer.status_code == 413
        if path != "/csp-report" and name in ("deep", "deep object", "not JSON", "twice", "surrogate", "not a number"):
            # Who may not at all is told so first.
            assert answer.status_code in (400, 403, 404), f"{name}: {answer.status_code}"
        if answer.status_code >= 400 and path != "/v1/demo/evaluate":
            _refusal(answer)
            assert len(answer.content) < 4096, f"{name}: what was sent is told back"
