"""The page that follows a form of an item: the list beside it, or its own page."""

import pytest

from admin_api.pages import list_or_item


@pytest.mark.parametrize(
    ("list_query", "page"),
    [
        ("?view=failed&execution=exe_1", "/executions?view=failed&execution=exe_1"),
        ("?tool=a%20b%26c", "/executions?tool=a%20b%26c"),
        ("", "/executions/exe_1"),
        ("?", "/executions/exe_1"),
        ("nonsense", "/executions/exe_1"),
        (
            "//elsewhere.example/?a=b\r\nSet-Cookie: c=d",
            "/executions?//elsewhere.example/%3Fa=b%0D%0ASet-Cookie%3A%20c%3Dd",
        ),
    ],
)
def test_the_query_stays_a_query_of_the_list(list_query: str, page: str) -> None:
    assert list_or_item("/executions", list_query, "exe_1") == page
