"""The page of each error code has what the reference says of it, and nothing of its markup."""

import json
import re

import pytest

from admin_api.refusals.reference import Words, error_pages, parse_errors
from headgate.configuration import resources
from headgate.kernel.errors import HTTP_STATUS, ErrorCode


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_is_explained(code: ErrorCode) -> None:
    found = error_pages()[code]
    assert found.status == HTTP_STATUS[code]
    assert found.text and found.advice and found.when
    assert json.loads(found.example)["error"]["code"] == code
    words = "".join(one.text for paragraph in (*found.text, *found.advice) for one in paragraph if not one.is_code)
    assert re.search(r"\]\(|`|\*\*|Agent:", words) is None, words


def test_links_are_reduced_to_their_words() -> None:
    row = "| `A_CODE` | 400 | gate | see [the page](errors.md) |"
    markdown = f"{row}\n\n### A_CODE\n\n400. *Read* `a` and [b](errors.md#b).\n\n*Agent:* stop.\n"
    found = parse_errors(markdown)["A_CODE"]
    assert found.when == (Words("see the page", False),)
    assert found.text == ((Words("Read ", False), Words("a", True), Words(" and b.", False)),)
    assert found.advice == ((Words("stop.", False),),)


def test_an_installed_program_has_the_page_beside_its_data(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(resources, "_INSTALLED", tmp_path)
    assert resources.reference_path("errors.md") == tmp_path / "errors.md"
