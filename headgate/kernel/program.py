"""What this program calls itself."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

PROGRAM: Final = "headgate"


def _installed_version() -> str:
    """Of the installed distribution; a checkout that was never installed has none."""
    try:
        return version(PROGRAM)
    except PackageNotFoundError:
        return "0+not.installed"


PROGRAM_VERSION: Final = _installed_version()
