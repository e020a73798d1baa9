"""The list of operations reads less of a catalogue than ``load`` does: what it reads must be the same."""

from pathlib import Path

import pytest

from headgate.kernel.errors import ValidationError
from headgate.tools.listing import ListedOperation, list_operations
from headgate.tools.load import load_catalogues

SHOP = """
tool: shop
description: A shop
hosts: [api.shop.example]
entries:
  - operation: rename_item
    description: Renames
    method: [PATCH, PUT]
    path: /items/{item}
    effect: write
  - operation: rename_item
    description: Renames in the old way
    method: POST
    path: /rename
    effect: write
  - operation: find_items
    description: Finds
    method: [POST, GET]
    path: /find
    effect: read
  - operation: search
    description: Searches
    method: [POST, GET]
    path: /search
    effect: read
    send: {method: POST}
  - operation: count_items
    description: Counts
    protocol: graphql
    path: /graphql
    effect: read
    query: count
    document: "query { count }"
  - description: Speaks MCP
    protocol: mcp
    path: /mcp
"""
MORE = SHOP.replace("api.", "more.").replace("find_items", "find_more")


def loaded(own: Path | None) -> list[ListedOperation]:
    return [
        ListedOperation(entry.tool, entry.operation, entry.effect, entry.sending.method, entry.description)
        for entries in load_catalogues(own).tools.values()
        for entry in entries.values()
    ]


def test_the_catalogues_that_come_with_headgate_are_listed_as_they_are_loaded() -> None:
    listed = list_operations()
    assert {"github", "linear"} <= {one.tool for one in listed}
    assert listed == loaded(None)


def test_an_instances_own_are_listed_as_they_are_loaded(tmp_path: Path) -> None:
    """One tool in two files, one operation twice, several methods, GraphQL, MCP; and a file that replaces one."""
    (tmp_path / "shop.yaml").write_text(SHOP)
    (tmp_path / "zz_more.yaml").write_text(MORE)
    (tmp_path / "linear.yaml").write_text(SHOP.replace("shop", "lines"))
    listed = list_operations(tmp_path)
    assert listed == loaded(tmp_path)
    assert {"linear"}.isdisjoint(one.tool for one in listed)
    methods = {one.operation: one.method for one in listed if one.tool == "shop"}
    assert methods == {
        "rename_item": "PATCH",
        "find_items": "GET",
        "search": "POST",
        "count_items": "POST",
        "find_more": "GET",
    }


@pytest.mark.parametrize(
    ("written", "instead", "member"),
    [
        ("effect: read", "effect: reads", "effect"),
        ("operation: search", "operation: Search", "operation"),
        ("description: Finds", "description: ''", "description"),
        ("send: {method: POST}", "send: {method: PUT}", "send.method"),
        ("protocol: mcp", "protocol: mcpp", "protocol"),
    ],
)
def test_what_it_shows_is_checked(tmp_path: Path, written: str, instead: str, member: str) -> None:
    assert written in SHOP
    (tmp_path / "shop.yaml").write_text(SHOP.replace(written, instead))
    with pytest.raises(ValidationError, match=member):
        list_operations(tmp_path)
