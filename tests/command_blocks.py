"""The blocks of commands in the documents, and what they show as output.

A block of the language ``console`` has commands behind ``$`` and their output between them; one of ``sh`` or ``bash``
has commands only. ``<!-- not run: REASON -->`` on the line above says that a block cannot be run in a test, and why.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
GENERATED: Final = ROOT / "docs" / "reference" / "cli.md"
_BLOCK: Final = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"(?P<indent> *)```(?P<language>console|sh|bash)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Command:
    """``shown``: the lines of output that the document gives; a line of ``…`` stands for any."""

    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """``reason``: why it is not run; None: it is run."""

    page: str
    line: int
    commands: tuple[Command, ...]
    reason: str | None


def pages() -> list[Path]:
    folders = (ROOT / "docs" / "guides", ROOT / "docs" / "reference")
    found = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.glob("*.md"))]
    return sorted(page for page in found if page != GENERATED)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        lines = [line.removeprefix(found["indent"]) for line in found["text"].splitlines()]
        commands = _of_console(lines) if found["language"] == "console" else [Command("\n".join(lines), ())]
        line = text.count("\n", 0, found.start()) + 1
        yield Block(str(page.relative_to(ROOT)), line, tuple(commands), found["reason"])


def _of_console(lines: list[str]) -> Iterator[Command]:
    """A block that begins without a command has the output of the command before it: a command without text."""
    text, shown = "", list[str]()
    for line in lines:
        if line.startswith("$ "):
            if text or shown:
                yield Command(text, tuple(shown))
            text, shown = line[2:], []
        elif text and not shown and not _is_whole(text):
            text += "\n" + line
        elif not line.lstrip().startswith("# ") or line.startswith("#"):
            shown.append(line)  # and not a remark that goes on behind a command
    yield Command(text, tuple(shown))


def _is_whole(text: str) -> bool:
    """Whether bash needs no further line: no open quote, no backslash at the end."""
    asked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return asked.returncode == 0 and not asked.stderr and not text.endswith("\\")
