"""Every block of commands is one that a test runs, or says why none does."""

import re

import pytest

from tests.command_blocks import ROOT, Command, blocks, pages

MARK = re.compile(r"^<!-- not run: ", re.MULTILINE)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_block_that_is_not_run_names_a_reason(page) -> None:
    text = page.read_text("utf-8")
    marked = [one for one in blocks(page) if one.reason is not None]
    assert len(MARK.findall(text)) == len(marked), "a mark stands right above the block that it is for"
    for block in marked:
        named = [word.strip("`,;()") for word in (block.reason or "").split() if "tests/" in word]
        assert all((ROOT / name).exists() for name in named), block.reason


def test_a_console_is_read_as_it_is_typed(tmp_path) -> None:
    page = ROOT / "docs" / "guides" / "getting-started.md"
    commands = [command for block in blocks(page) for command in block.commands]
    assert Command('eval "$(headgate env)"', ()) in commands
    assert any(command.text.startswith("curl -H") and "\n    -d " in command.text for command in commands)
    assert any(not command.text and command.shown[0] == "HTTP/1.1 200 Connection established" for command in commands)
