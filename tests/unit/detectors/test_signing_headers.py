"""A key in the one header field that is named as one signs in there; elsewhere it is a finding."""

import random
from typing import Any

import pytest

from headgate.detectors.assess import AssessedContent, EmbeddedModel, Query, assess
from tests.labelled import credentials

_RANDOM = random.Random(11)  # noqa: S311 - repeatable, not secret
_KEY = "Zq7mT2xVb94KpLs8WcRd3HfYgN6uJeAo"


def _call(headers: dict[str, str], host: str = "api.vendor.example.com", scheme: str = "https") -> Any:
    return {
        "tool": "http",
        "http": {"method": "GET", "scheme": scheme, "host": host, "path": "/v1", "headers": headers},
    }


def _found(headers: dict[str, str], host: str = "api.vendor.example.com", scheme: str = "https") -> bool:
    return bool(assess(EmbeddedModel.SECRETS, _call(headers, host, scheme)).issues)


@pytest.mark.parametrize(
    "name",
    ["authkey", "dhl-api-key", "x-shop-token", "cb-access-key", "x-rundeck-auth-token", "app-token",
     "x-client-secret-key", "postmark-api-key", "x-acme-access-token", "access_token"],
)  # fmt: skip
def test_the_only_key_of_a_call(name: str) -> None:
    assert not _found({name: _KEY})
    assert not _found({name: _KEY, "accept": "application/json"})
    assert _found({name: credentials.gitlab(_RANDOM)})
    assert _found({name: _KEY}, scheme="http")
    assert _found({name: _KEY}, host="x.ngrok-free.app")
    assert _found({name: _KEY}, host="203.0.114.7")


@pytest.mark.parametrize(
    "headers",
    [
        {"x-trace-token": _KEY},
        {"x-debug-api-key": _KEY},
        {"x-build-secret": _KEY},
        {"x-session-key": _KEY},
        {"authkey": f"{_KEY},{_KEY}"},
        {"authkey": f"token={_KEY} of the other service"},
        {"authkey": _KEY, "x-other-token": "Wc7rT2xVb94KpLs8ZqRd3HfYgN6uJeAo"},
        {"authkey": "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"},
        {"x-note": f"api_key={_KEY}"},
        {"x-github-token": _KEY},
        {"x-aws-secret-access-key": _KEY},
        {"x-db-key": _KEY},
        {"x-root-key": _KEY},
        {"authkey": f"alice:{_KEY}"},
    ],
)
def test_other_fields_and_more_than_one_key(headers: dict[str, str]) -> None:
    assert _found(headers)


def test_a_call_that_signs_in_otherwise_has_no_second_key() -> None:
    content = AssessedContent(_call({"authkey": _KEY}))
    signed_in = Query(EmbeddedModel.SECRETS, signs_in={"authorization": ["Basic YTpi"]})

    assert content.assess(signed_in).issues
    assert not content.assess(Query(EmbeddedModel.SECRETS)).issues


def test_a_key_in_the_body_stays_one() -> None:
    value = {**_call({"authkey": _KEY}), "body": {"api_key": "Wc7rT2xVb94KpLs8ZqRd3HfYgN6uJeAo"}}

    assert assess(EmbeddedModel.SECRETS, value).issues
