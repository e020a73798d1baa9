"""What browsers get of the pages' own scripts."""

import re
from pathlib import Path

import pytest

import admin_api
from admin_api.assets import _BY_NAME

_STATIC = Path(admin_api.__file__).parent / "static"
_SCRIPTS = sorted(one.name for one in _STATIC.glob("*.js") if one.name != "editor.js")


@pytest.mark.parametrize("name", _SCRIPTS)
def test_a_script_loses_its_lines_of_comments_and_nothing_else(name: str) -> None:
    written = (_STATIC / name).read_text()
    served = _BY_NAME[name].content.decode()
    gone = [line for line in written.splitlines() if line.lstrip().startswith("//")]
    assert gone, "each says what it does"
    assert [line for line in written.splitlines() if line not in gone] == served.splitlines()
    for line in gone:
        before = written[: written.index(line)]
        code = re.sub(r"//[^\n]*", "", before)
        assert code.count("`") % 2 == 0, "the line stands in a text of several lines"


def test_the_bundle_is_served_as_it_was_made() -> None:
    assert _BY_NAME["editor.js"].content == (_STATIC / "editor.js").read_bytes()
