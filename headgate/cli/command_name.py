"""How this command was called, so that what it prints can be typed as it stands."""

import shlex
import shutil
import sys
from pathlib import Path

_NAME = "headgate"


def command_name(called_as: str | None = None, search_path: str | None = None) -> str:
    """``headgate`` where a shell finds this very installation by that name, else the path that was called.

    ``make up`` calls ``.venv/bin/headgate``, which is on nobody's PATH.
    """
    called = Path(sys.argv[0] if called_as is None else called_as)
    if called.name != _NAME or not called.exists():
        return _NAME
    found = shutil.which(_NAME, path=search_path)
    if found is not None and Path(found).samefile(called):
        return _NAME
    return str(called)


def command_name_anywhere(called_as: str | None = None, search_path: str | None = None) -> str:
    """The same for a shell in any folder, as a page shows it."""
    name = command_name(called_as, search_path)
    return name if name == _NAME else shlex.quote(str(Path(name).absolute()))
