"""A call as a command: the whole address, and nothing that a shell would run."""

import json
import shlex

import pytest

from admin_api.web.call import curl_of

_HTTP = {"method": "POST", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/v1/x"}


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({}, "https://api.example.com/v1/x"),
        ({"port": 8443}, "https://api.example.com:8443/v1/x"),
        ({"scheme": "http", "port": 80}, "http://api.example.com/v1/x"),
        ({"query": {"a": ["1", "2"], "b": ["x y&z"]}}, "https://api.example.com/v1/x?a=1&a=2&b=x+y%26z"),
        ({"path": "/$(reboot);'`id`"}, "https://api.example.com/$(reboot);'`id`"),
    ],
)
def test_the_address(changes: dict, address: str) -> None:
    assert shlex.split(curl_of({**_HTTP, **changes}, {}) or "") == ["curl", "-X", "POST", address]


def test_each_header_is_one_word() -> None:
    command = curl_of({**_HTTP, "headers": {"accept": "a b", "x-many": ["1", "2"]}}, {})
    assert shlex.split(command or "")[4:] == ["-H", "accept: a b", "-H", "x-many: 1", "-H", "x-many: 2"]


def test_what_is_not_http_has_none() -> None:
    assert curl_of(None, {"body": {"a": 1}}) is None


def test_a_json_body_is_one_word() -> None:
    body = {"text": "it's $(reboot) @file", "to": ["ä"]}
    http = {**_HTTP, "body_kind": "json"}
    words = shlex.split(curl_of(http, {"body": body}) or "")
    assert words[-2] == "--data-raw"
    assert json.loads(words[-1]) == body
    for other in ({**_HTTP, "body_kind": "form"}, _HTTP):
        assert "--data-raw" not in (curl_of(other, {"body": body}) or "")
    assert "--data-raw" not in (curl_of(http, {"body": {}}) or "")
