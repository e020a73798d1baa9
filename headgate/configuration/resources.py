"""Where the data files are: tool catalogues, lists of headers, policies.

In a checkout they lie in ``config/`` beside the packages; a wheel carries the same folder as
``headgate/_config`` (pyproject.toml).
"""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_INSTALLED: Final = _PACKAGE / "_config"
_CHECKOUT: Final = _PACKAGE.parent / "config"
_REFERENCE: Final = _PACKAGE.parent / "docs" / "reference"


def resource_path(*parts: str) -> Path:
    """The path of a data file or folder, whether or not it exists."""
    root = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return root.joinpath(*parts)


def reference_path(name: str) -> Path:
    """The path of a page of ``docs/reference`` that the program shows; a wheel carries it beside the data files."""
    return resource_path(name) if _INSTALLED.is_dir() else _REFERENCE / name
