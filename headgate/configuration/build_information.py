"""Which commit this program was made from, and when.

A wheel carries both (``hatch_build.py``); in a checkout the commit is git's and there is no build.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_FILE: Final = _PACKAGE / "_build.json"
_CHECKOUT: Final = _PACKAGE.parent / ".git"


class BuildInformation(Struct, frozen=True):
    """None: unknown."""

    commit: str | None
    built_at: str | None


@cache
def build_information() -> BuildInformation:
    """Of this process' files, as they were when it was first asked."""
    try:
        document = json.loads(_FILE.read_text("utf-8"))
        return BuildInformation(document.get("commit"), document.get("built_at"))
    except FileNotFoundError:
        return BuildInformation(commit_of(_CHECKOUT), None)
    except (OSError, ValueError, AttributeError):
        return BuildInformation(None, None)


def commit_of(git: Path) -> str | None:
    """The commit that is checked out, from git's own files (gitrepository-layout(5)); None where there is none."""
    try:
        head = (git / "HEAD").read_text("ascii").strip()
        if not head.startswith("ref: "):
            return head or None
        reference = head.removeprefix("ref: ")
        loose = git / reference
        if loose.is_file():
            return loose.read_text("ascii").strip() or None
        packed = (git / "packed-refs").read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.split(" ")[0] for line in packed if line.endswith(f" {reference}")), None)
