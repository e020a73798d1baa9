"""Names fit the specification's pattern, and different names stay different."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.protocols.names import altered_name, fit_name, mcp_server_tool, method_operation

_PATTERN = re.compile(r"^[a-z][a-z0-9_]{0,63}\Z")


@pytest.mark.parametrize("name", ["delete_repo", "a", "a1", "x" * 64, "a__b_"])
def test_what_fits_stays(name: str) -> None:
    assert fit_name(name) == name


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("deleteRepo", "delete_repo_"),
        ("delete-repo", "delete_repo_"),
        ("Delete Repo", "delete_repo_"),
        ("HTTPServer", "http_server_"),
        ("9lives", "n_9lives_"),
        ("", "n_"),
        ("日本", "n_"),
        ("x" * 65, "x" * 55),
        ("a\n", "a_"),
    ],
)
def test_what_does_not_fit_stays_readable_and_apart(name: str, readable: str) -> None:
    fitted = fit_name(name)
    assert fitted.startswith(readable)
    assert _PATTERN.match(fitted)
    assert fitted != "delete_repo"


@given(st.text(max_size=80), st.text(max_size=80))
def test_every_name_fits_and_none_meets_another(one: str, other: str) -> None:
    assert _PATTERN.match(fit_name(one))
    assert _PATTERN.match(altered_name(one))
    assert altered_name(one) != one
    if one != other:
        assert fit_name(one) != fit_name(other)


@given(st.lists(st.sampled_from(["delete", "Repo", "repo", "_", "-", "x" * 30, "1"]), max_size=5).map("".join))
def test_near_names_stay_apart(name: str) -> None:
    for other in (name.lower(), name.replace("-", "_"), name + "_", "_" + name):
        assert other == name or fit_name(other) != fit_name(name)


@pytest.mark.parametrize(
    ("method", "prefix", "expected"),
    [("GET", "", "get"), ("PROPFIND", "", "propfind"), ("DELETE", "unlisted_", "unlisted_delete")],
)
def test_methods(method: str, prefix: str, expected: str) -> None:
    assert method_operation(method, prefix) == expected


def test_methods_with_other_characters_fit_too() -> None:
    assert _PATTERN.match(method_operation("VERSION-CONTROL", "unlisted_"))
    assert method_operation("M-SEARCH").startswith("m_search_")


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("mcp.linear.app", 443, "mcp_mcp_linear_app"),
        ("my-server.example", 443, "mcp_my__server_example"),
        ("localhost", 8001, "mcp_localhost_8001"),
        ("127.0.0.1", 80, "mcp_127_0_0_1"),
    ],
)
def test_mcp_servers(host: str, port: int, expected: str) -> None:
    assert mcp_server_tool(host, port) == expected


@pytest.mark.parametrize("host", ["::1", "a_b.example", "x" * 61 + ".example"])
def test_other_hosts_fit_too(host: str) -> None:
    tool = mcp_server_tool(host, 443)
    assert _PATTERN.match(tool)
    assert tool.startswith("mcp_")
