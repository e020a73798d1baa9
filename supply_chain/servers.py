"""The servers that Python packages carry: their versions, as they say them."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headgate.runtime import postgres, valkey
from supply_chain.component import Component, Ecosystem
from supply_chain.licenses import Licenses

_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")


def servers(licenses: Licenses) -> Iterator[Component]:
    """Raises UnavailableError where a package is not installed."""
    programs = {"postgresql": postgres.binaries() / "postgres", "valkey-server": valkey.binary()}
    for one in licenses.carried:
        yield Component(Ecosystem.GENERIC, one.name, _version(programs[one.name]), one.license)


def _version(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = _VERSION.search(said)
    if found is None:
        raise ValueError(f"{program} names no version: {said!r}")
    return found[0]
