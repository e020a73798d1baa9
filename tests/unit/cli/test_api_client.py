"""What a person at a terminal is told when the API refuses."""

import httpx
import pytest

from headgate.client import operations
from headgate.kernel.errors import HeadgateError, ValidationError
from tests.answering_api import answering_api


def _refused(status: int, message: str, details: object) -> HeadgateError:
    answer = httpx.Response(status, json={"error": {"code": "X", "message": message, "details": details}})
    with answering_api(lambda request: answer) as client, pytest.raises(HeadgateError) as caught:
        client.send(operations.list_keys)
    return caught.value


@pytest.mark.parametrize(
    ("message", "details", "shown"),
    [
        (
            "name: too short",
            {"field": "name", "reason": "too short", "errors": [{"field": "name", "reason": "too short"}]},
            "name: too short",
        ),
        (
            "2 faults",
            {"errors": [{"field": "a", "reason": "missing"}, {"field": "b", "reason": "unknown"}]},
            "2 faults\n  a: missing\n  b: unknown",
        ),
        (
            "policy.rego:3:7: expected if",
            {"reason": "expected if", "file": "policy.rego", "line": 3, "column": 7, "source": "allow { true }"},
            "policy.rego:3:7: expected if\n  allow { true }\n        ^",
        ),
        (
            "expected apr_ and a UUID",
            {"expected_prefix": "apr_", "got": "\x1b[2Jx"},
            "expected apr_ and a UUID\n  headgate approvals list lists them\n  got: \\u{1b}[2Jx",
        ),
        (
            "policy.rego:4:1: expecting `}`",
            {"reason": "expecting `}`", "file": "policy.rego", "line": 4, "column": 1, "source": "", "field": "rego"},
            "policy.rego:4:1: expecting `}`",
        ),
        (
            "events: unknown: c; known: a, b",
            {"field": "events", "reason": "unknown or empty", "known": ["a", "b"]},
            "events: unknown: c; known: a, b",
        ),
        ("2 are unknown", {"field": "events", "known": ["x"]}, "2 are unknown\n  field: events\n  known: ['x']"),
        (
            "2 tests fail: a: is b; and 1 more.",
            {
                "field": "cases",
                "reason": "a test fails",
                "failing": [{"name": "a", "message": "is b"}, {"name": "c\x1b", "message": "is d"}, "odd"],
            },
            "2 tests fail: a: is b; and 1 more.\n  c\\u{1b}: is d",
        ),
        ("no", None, "no"),
        ("no", ["odd"], "no"),
    ],
)
def test_details_add_what_the_message_does_not_say(message: str, details: object, shown: str) -> None:
    assert _refused(400, message, details).message == shown


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        ("approvals:write", "no; roles with this scope: admin, approver"),
        ("break_glass:write", "no; roles with this scope: break_glass"),
        ("a later version's", "no"),
        (["odd"], "no"),
    ],
)
def test_who_lacks_a_scope_is_told_who_has_it(scope: object, shown: str) -> None:
    assert _refused(403, "no", {"missing_scope": scope}).message == shown


@pytest.mark.parametrize(("credential", "names_tokens"), [("hg_abc", False), ("eyJ.a.b", True)])
def test_the_hint_about_tokens_is_for_tokens(credential: str, names_tokens: bool) -> None:
    answer = httpx.Response(401, json={"error": {"code": "UNAUTHORIZED", "message": "no"}})
    with answering_api(lambda request: answer, credential) as client, pytest.raises(HeadgateError) as caught:
        client.send(operations.list_keys)
    assert ("HEADGATE_TOKEN" in caught.value.message) is names_tokens


def test_a_wrong_input_is_a_validation_error() -> None:
    assert isinstance(_refused(400, "no", {"field": "x"}), ValidationError)


def test_an_operation_is_sent_as_the_generated_client_makes_it() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"id": "key_1"})

    with answering_api(answer) as client:
        assert client.send(operations.delete_key, "a/b") == {"id": "key_1"}
    assert (seen[0].method, seen[0].url.raw_path) == ("DELETE", b"/admin/keys/a%2Fb")


@pytest.mark.parametrize("named", ["", ".", ".."])
def test_an_argument_that_names_no_resource_is_not_sent(named: str) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    with answering_api(answer) as client, pytest.raises(ValidationError, match="names no resource"):
        client.send(operations.delete_key, named)
    assert seen == []
