"""A vendor's token in a field that signs in is a finding at another one's host, whatever the policy excepts."""

from base64 import b64encode

import pytest

from headgate.detectors.assess import AssessedContent, EmbeddedModel, Query
from headgate.detectors.credential_homes import credential_homes
from headgate.kernel.canonical_json import JsonValue
from headgate.nlp_policies.content import JudgedContent

_GITHUB = "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"
_STRIPE = "sk_live_51EXMbc40pGEzTpTd9drWjf3laI1rTisivOnRws68D"


def _found(host: str, text: str, name: str = "authorization") -> list[tuple[str, str]]:
    call: JsonValue = {"http": {"method": "GET", "scheme": "https", "host": host, "path": "/", "headers": {}}}
    content = JudgedContent(call, sent={name: [text]})
    query = Query(EmbeddedModel.SECRETS, signs_in=content.fields(content.header_names()))
    found = AssessedContent(content.for_detectors((name,))).assess(query).inspection.findings
    return [(one.kind, one.place.path) for one in found]


@pytest.mark.parametrize(
    "host",
    [
        "api.open-meteo.com",
        "github.com.out.example",
        "notgithub.com",
        "a.example",
        "8.8.8.8",
        "::ffff:808:808",
        "git.northwind.ngrok.io",
        "code.northwind.workers.dev",
        "github.northwind.pages.dev",
        "x1-3000.app.github.dev",
    ],
)
def test_a_token_at_a_stranger_is_found(host: str) -> None:
    assert _found(host, _GITHUB) == [("github_token", "$.http.headers['authorization']")]
    assert _found(host, _GITHUB, "x-api-key") == [("github_token", "$.http.headers['x-api-key']")]
    assert _found(host, b64encode(f"x-access-token:{_GITHUB}".encode()).decode())
    assert _found(host, b64encode(f"{_STRIPE}:".encode()).decode())
    assert len(_found(host, f"DPoP {_STRIPE}")) == 1


@pytest.mark.parametrize(
    "host", ["api.github.com", "github.com", "github.northwind.example", "git.northwind.example", "mcp", "10.0.0.7"]
)
def test_at_home_it_is_none(host: str) -> None:
    assert not _found(host, _GITHUB)
    assert not _found(host, b64encode(f"ada:{_GITHUB}".encode()).decode())


@pytest.mark.parametrize(
    "host", ["mcp.platform.internal", "proxy.service.consul", "a.home", "localhost", "[::1]", "::1", ""]
)
def test_hosts_of_ones_own_network_are_no_strangers(host: str) -> None:
    assert not _found(host, _GITHUB)
    assert not _found(host, _STRIPE)


@pytest.mark.parametrize("text", ["ghp_example", "Zm9v", "8fa7sd6f87asd6f87sd6f", ""])
def test_what_is_no_vendors_token_signs_in_anywhere(text: str) -> None:
    assert not _found("api.example.com", text)


def test_the_policy_excepts_no_other_finding() -> None:
    call: JsonValue = {"http": {"method": "GET", "scheme": "https", "host": "api.example.com", "path": f"/{_STRIPE}"}}
    content = JudgedContent(call, sent={"authorization": [_GITHUB]})
    query = Query(EmbeddedModel.SECRETS, signs_in=content.fields(("authorization",)))
    found = AssessedContent(call).assess(query).inspection.findings
    assert [one.place.path for one in found] == ["$.http.path", "$.http.headers['authorization']"]


def test_a_field_that_is_sent_twice_is_read_twice() -> None:
    call: JsonValue = {"http": {"host": "api.example.com", "headers": {"x-one": ["a", _GITHUB], "x-two": _GITHUB}}}
    fields = JudgedContent(call).fields(("x-one", "x-two"))
    assert fields == {"x-one": ["a", _GITHUB], "x-two": [_GITHUB]}


def test_each_home_has_hosts() -> None:
    for one in credential_homes():
        assert one.begins and one.hosts
