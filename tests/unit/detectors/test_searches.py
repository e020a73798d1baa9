"""A question about a command is no command; a program at an endpoint of that name is one."""

from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonObject

_QUESTION = "kubectl delete namespace stuck terminating finalizers"


def _found(path: str, method: str = "GET", **parts: Any) -> bool:
    call: JsonObject = {"tool": "http", "operation": method.lower()}
    query = parts.pop("query", {})
    call |= {
        "http": {"method": method, "scheme": "https", "host": "api.example", "path": path, "query": query},
        **parts,
    }
    return bool(assess(EmbeddedModel.COMMANDS, call).issues)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/search", "q"), ("/2.3/search/advanced", "q"), ("/res/v1/web/search", "q"), ("/v1/search.json", "query")],
)
def test_words_of_a_search_are_no_command(path: str, name: str) -> None:
    assert not _found(path, query={name: [_QUESTION]})
    assert not _found(path, "POST", body={"query": "how do I rm -rf / --no-preserve-root"})


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/query", {"q": [_QUESTION]}),
        ("/services/search/jobs", {"search": [_QUESTION]}),
        ("/search", {"cmd": [_QUESTION]}),
        ("/search", {"q": ["x'; DROP TABLE users; --"]}),
        ("/search", {"q": ["$(kubectl delete namespace prod)"]}),
        ("/research", {"q": [_QUESTION]}),
        ("/search/execute", {"q": [_QUESTION]}),
        ("/search", {"q": ["DROP DATABASE payroll CASCADE"]}),
        ("/search", {"q": ["GRANT ALL PRIVILEGES ON DATABASE payroll TO PUBLIC"]}),
    ],
)
def test_any_other_place_is_none_of_a_search(path: str, query: Any) -> None:
    assert _found(path, query=query)


def test_a_search_changes_nothing() -> None:
    assert _found("/search", "DELETE", query={"q": [_QUESTION]})
    assert _found("/search", "POST", body={"query": "a", "script": _QUESTION})


@pytest.mark.parametrize(
    ("operation", "found"), [("brave_web_search", False), ("tavily-search", False), ("search_orders", True)]
)
def test_tools_search_the_web_where_their_name_says_so(operation: str, found: bool) -> None:
    call: JsonObject = {"tool": "mcp_example", "operation": operation, "params": {"query": _QUESTION}}
    assert bool(assess(EmbeddedModel.COMMANDS, call).issues) is found
