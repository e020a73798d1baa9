"""What differs between two captured exchanges."""

from typing import Any

from admin_api.traffic.compare import compare


def message(**changes: Any) -> dict[str, Any]:
    plain = {
        "method": "GET", "scheme": "https", "host": "a", "port": 443, "path": "/", "query": "", "status": 200,
        "reason": "OK", "headers": [["A", "1"]], "body": "", "size_bytes": 0,
    }  # fmt: skip
    return plain | changes


def documents(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return compare({"request": left, "response": None}, {"request": right, "response": None})


def test_the_same_differs_in_nothing() -> None:
    found = compare(*[{"request": message(), "response": message()}] * 2)
    assert found == {name: {"head": None, "headers": [], "body": None} for name in ("request", "response")}


def test_heads_headers_and_bodies() -> None:
    left = message(headers=[["A", "1"], ["b", "x"]], body='{"b":1,"a":[1,2]}')
    right = message(path="/other", headers=[["a", "1"], ["B", "y"], ["b", "z"], ["C", "3"]], body='{"a":[1,3],"b":1}')
    found = documents(left, right)["request"]
    assert found["head"] == ["GET https://a:443/", "GET https://a:443/other"]
    assert found["headers"] == [
        {"name": "b", "left": ["x"], "right": ["y", "z"]},
        {"name": "c", "left": [], "right": ["3"]},
    ]
    assert [line for line in found["body"].splitlines() if line[:1] in "+-"] == [
        "--- left", "+++ right", "-    2", "+    3",
    ]  # fmt: skip


def test_an_answer_that_is_not_there_and_a_body_that_was_not_captured() -> None:
    found = compare(
        {"request": message(body=None, size_bytes=5), "response": None}, {"request": message(), "response": message()}
    )
    assert found["response"]["head"] == [None, "200 OK"]
    assert "-(5 bytes, not captured)" in found["request"]["body"]
