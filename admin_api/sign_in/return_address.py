"""Where a person goes after signing in: a path of our own, never another site (an open redirect, CWE-601)."""

import re
from typing import Final
from urllib.parse import urlsplit

HOME: Final = "/"
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")


def own_path(given: str | None) -> str:
    """``given`` where it is a path here, else the home page. Printable ASCII without a backslash, which browsers read
    as a slash."""
    if given is None or _PATH.fullmatch(given) is None:
        return HOME
    parts = urlsplit(given)
    return given if not parts.scheme and not parts.netloc else HOME
