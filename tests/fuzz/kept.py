"""The inputs that are kept of each target: ``kept/TARGET.txt``, a line of base64 each, which git compares as text."""

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "kept"


def kept_inputs(target: str) -> list[bytes]:
    return [base64.b64decode(line) for line in (_FOLDER / f"{target}.txt").read_text().splitlines()]


def keep(target: str, inputs: Iterable[bytes]) -> int:
    """In the order of their size, so that the simplest is seen first. Returns how many."""
    ordered = sorted(set(inputs), key=lambda one: (len(one), one))
    (_FOLDER / f"{target}.txt").write_text("".join(f"{base64.b64encode(one).decode()}\n" for one in ordered))
    return len(ordered)
