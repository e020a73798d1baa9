"""Where the data files are: tool catalogues, lists of headers, policies.

In a checkout they lie in ``config/`` beside the packages; a wheel carries the same folder as
``headgate/_config`` (pyproject.toml, ``force-include``).
"""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_INSTALLED: Final = _PACKAGE / "_config"
_CHECKOUT: Final = _PACKAGE.parent / "config"


def resource_path(*parts: str) -> Path:
    """The path of a data file or folder, whether or not it exists."""
    root = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return root.joinpath(*parts)
