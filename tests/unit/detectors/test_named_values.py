"""Names and values as members beside each other, and lists in which nothing is secret."""

import random

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue
from tests.labelled import credentials

_KEY = credentials.random_password(random.Random(7)) + "9aB4xQ7w"  # noqa: S311 - repeatable, not secret


def _issues(value: JsonValue) -> tuple[str, ...]:
    return assess(EmbeddedModel.SECRETS, {"tool": "http", "body": value}).issues


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "DB_PASSWORD", "value": "Falcon.river8812"}]},
        {"variables": [{"key": "api_secret", "value": "qnqJt1sKEKCJS5ZC4ML5lMJX"}]},
        {"embeds": [{"fields": [{"name": "session token", "value": "qnqJt1sKEKCJS5ZC4ML5lMJX"}]}]},
        {"headers": [{"name": "X-Auth-Token", "value": "qnqJt1sKEKCJS5ZC4ML5lMJX"}]},
    ],
)
def test_a_secret_is_found_under_the_name_beside_it(value: JsonValue) -> None:
    assert _issues(value)


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]},
        {"env": [{"name": "DB_PASSWORD", "value": "${DB_PASSWORD}"}, {"name": "TOKEN_TTL", "value": "3600"}]},
        {
            "fields": [
                {"name": "Token budget", "value": "200000"},
                {"name": "Monkey", "value": "a1b2c3d4e5f6a7b8c9d0e1f2"},
            ]
        },
        {
            "fields": [
                {"name": "Cache key", "value": "build-linux-x64-node20"},
                {"title": "Key result", "value": "raise NPS to 40"},
            ]
        },
        {
            "params": [
                {"name": "max_tokens", "value": "4096"},
                {"name": "author", "value": "9f8e7d6c5b4a39281706f5e4d3c2b1a0"},
            ]
        },
    ],
)
def test_other_pairs_are_no_findings(value: JsonValue) -> None:
    assert _issues(value) == ()
