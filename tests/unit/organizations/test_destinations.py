"""The allowlist: what it lifts, and that a malformed one is refused with its field."""

import json
from ipaddress import ip_address

import pytest

from headgate.kernel.errors import ValidationError
from headgate.organizations.destinations import (
    PUBLIC_ONLY,
    Allowlist,
    OperatorBounds,
    parse_allowlist,
    parse_bounds,
    rules_document,
    rules_of_document,
)


def _allowlist(**entry: object) -> Allowlist:
    return parse_allowlist(json.dumps({"destinations": [entry]}), None)


@pytest.mark.parametrize(
    ("entry", "host", "address", "port", "permitted"),
    [
        ({"host": "127.0.0.1", "private": True}, "127.0.0.1", "127.0.0.1", 8443, True),
        ({"host": "127.0.0.1", "private": True}, "localhost", "127.0.0.1", 8443, True),
        ({"host": "127.0.0.1", "private": True}, "127.0.0.1", "127.0.0.2", 8443, False),
        ({"host": "127.0.0.1", "private": True}, "x", "::ffff:127.0.0.1", 8443, True),
        ({"host": "127.0.0.1"}, "127.0.0.1", "127.0.0.1", 8443, False),
        ({"host": "127.0.0.1", "private": True, "ports": [8443]}, "x", "127.0.0.1", 8443, True),
        ({"host": "127.0.0.1", "private": True, "ports": [8443]}, "x", "127.0.0.1", 8444, False),
        ({"host": "10.0.0.0/8", "private": True}, "build.corp", "10.200.1.1", 443, True),
        ({"host": "10.0.0.0/8", "private": True}, "build.corp", "11.0.0.1", 443, True),  # public anyway
        ({"host": "10.0.0.0/8", "private": True}, "build.corp", "192.168.0.1", 443, False),
        ({"host": "[::1]", "private": True}, "::1", "::1", 443, True),
        ({"host": "fd00::/8", "private": True}, "x", "fd12::1", 443, True),
        ({"host": "build.corp", "private": True}, "build.corp", "10.0.0.1", 443, True),
        ({"host": "build.corp", "private": True}, "BUILD.corp.", "10.0.0.1", 443, True),
        ({"host": "build.corp", "private": True}, "x.build.corp", "10.0.0.1", 443, False),
        ({"host": "build.corp", "private": True}, "build.corp", "127.0.0.1", 443, True),
        ({"host": "*.corp.example", "private": True}, "a.corp.example", "10.0.0.1", 443, True),
        ({"host": "*.corp.example", "private": True}, "a.b.corp.example", "10.0.0.1", 443, True),
        ({"host": "*.corp.example", "private": True}, "corp.example", "10.0.0.1", 443, False),
        ({"host": "*.corp.example", "private": True}, "evilcorp.example", "10.0.0.1", 443, False),
        # A name does not lift the guard for the machine's credentials, an address does.
        ({"host": "build.corp", "private": True}, "build.corp", "169.254.169.254", 80, False),
        ({"host": "169.254.169.254", "private": True}, "169.254.169.254", "169.254.169.254", 80, True),
        ({"host": "münchen.example", "private": True}, "xn--mnchen-3ya.example", "10.0.0.1", 443, True),
    ],
)
def test_permits(entry: dict[str, object], host: str, address: str, port: int, permitted: bool) -> None:
    assert _allowlist(**entry).permits(host, ip_address(address), port) is permitted


def test_without_entries_only_public_addresses() -> None:
    for rules in (Allowlist.empty(), PUBLIC_ONLY, parse_allowlist('{"destinations": [], "tools": ["a"]}')):
        assert rules.permits("example.com", ip_address("93.184.216.34"), 443)
        assert not rules.permits("localhost", ip_address("127.0.0.1"), 443)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{", ""),
        ("[]", ""),
        ('{"hosts": []}', "hosts"),
        ('{"destinations": {}}', "destinations"),
        ('{"destinations": [1]}', "destinations[0]"),
        ('{"destinations": [{"host": "a", "x": 1}]}', "destinations[0].x"),
        ('{"destinations": [{}]}', "destinations[0].host"),
        ('{"destinations": [{"host": ""}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "a"}, {"host": "*"}]}', "destinations[1].host"),
        ('{"destinations": [{"host": "a.*.b"}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "10.0.0.1/8"}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "127.1"}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "http://a"}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "a b"}]}', "destinations[0].host"),
        ('{"destinations": [{"host": "a", "ports": 1}]}', "destinations[0].ports"),
        ('{"destinations": [{"host": "a", "ports": [0]}]}', "destinations[0].ports"),
        ('{"destinations": [{"host": "a", "ports": [true]}]}', "destinations[0].ports"),
        ('{"destinations": [{"host": "a", "ports": ["443"]}]}', "destinations[0].ports"),
        ('{"destinations": [{"host": "a", "private": 1}]}', "destinations[0].private"),
        ('{"destinations": [{"host": "a", "note": 1}]}', "destinations[0].note"),
        ('{"tools": [1]}', "tools"),
    ],
)
def test_malformed(text: str, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_allowlist(text)
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    ("listed", "opened", "port", "permitted"),
    [
        ("127.0.0.1", "127.0.0.0/8", 80, True),
        ("127.0.0.1", "10.0.0.0/8", 80, False),
        ("localhost", "127.0.0.1", 80, True),
        ("build.test", "*.test", 80, True),
        ("build.test", "*.example", 80, False),
        ("0.0.0.0/0", "127.0.0.1", 80, True),
    ],
)
def test_a_private_destination_needs_the_organization_and_the_operator(
    listed: str, opened: str, port: int, permitted: bool
) -> None:
    bounds = parse_bounds({"destinations": [{"host": opened, "ports": [80]}]})
    rules = parse_allowlist(json.dumps({"destinations": [{"host": listed, "private": True}]}), bounds)
    host = listed if listed.isascii() and listed[0].isalpha() else "x.invalid"
    assert rules.permits(host, ip_address("127.0.0.1"), port) is permitted
    assert not rules.permits(host, ip_address("127.0.0.1"), 81)
    assert rules_of_document(rules_document(rules)).permits(host, ip_address("127.0.0.1"), port) is permitted


def test_an_organization_without_bounds_reaches_no_private_address() -> None:
    rules = parse_allowlist(json.dumps({"destinations": [{"host": "127.0.0.1", "private": True}]}))
    assert not rules.permits("127.0.0.1", ip_address("127.0.0.1"), 80)
    assert rules.permits("1.1.1.1", ip_address("1.1.1.1"), 80)


@pytest.mark.parametrize(
    ("opened", "address", "permitted"),
    [
        ([], "1.1.1.1", True),
        ([], "127.0.0.1", False),
        ([], "169.254.169.254", False),
        ([{"host": "10.0.0.0/8", "ports": [8000]}], "10.0.0.7", True),
        ([{"host": "10.0.0.0/8", "ports": [8001]}], "10.0.0.7", False),
        ([{"host": "llm.example"}], "10.0.0.7", True),
        ([{"host": "llm.example"}], "169.254.169.254", False),
        (None, "10.0.0.7", True),
        (None, "169.254.169.254", False),
        (None, "::ffff:169.254.169.254", False),
    ],
)
def test_a_setting_of_an_administrator_leads_where_the_operator_has_opened(
    opened: list[dict[str, object]] | None, address: str, permitted: bool
) -> None:
    bounds = None if opened is None else parse_bounds({"destinations": opened})
    assert OperatorBounds(bounds).permits("llm.example", ip_address(address), 8000) is permitted


@pytest.mark.parametrize("name", ["git\0hub", "GitHub", "a" * 65, ""])
def test_a_tool_that_no_call_can_have_is_refused_where_it_is_set(name: str) -> None:
    stored = parse_allowlist(json.dumps({"tools": ["github", name]}))
    with pytest.raises(ValidationError, match=r"tools\[1\]: a name has lower-case letters"):
        stored.require_call_names()
    parse_allowlist('{"tools": ["github"]}').require_call_names()
