"""Where Python finds the packages that a wheel carries beside ``headgate``.

In a checkout ``proxy``, ``addons`` and ``admin_api`` lie beside ``headgate``, and its folder is on the import path. A
wheel puts nothing but ``headgate`` into site-packages, where those names could be anybody's: it carries them in
``headgate/_packages`` (pyproject.toml, ``sources``), which the program puts first on its own import path. A program
that imports ``headgate.client`` does not get them.

``python -P -m headgate.kernel.import_path MODULE`` runs a module of theirs as ``python -P -m MODULE`` does a module of
site-packages: for the processes that a part starts.
"""

import runpy
import sys
from pathlib import Path
from typing import Final

_PACKAGES: Final = Path(__file__).resolve().parent.parent / "_packages"


def extend_import_path(packages: Path = _PACKAGES) -> None:
    """Puts ``packages`` first on the import path, once, where this is an installed wheel."""
    if packages.is_dir() and str(packages) not in sys.path:
        sys.path.insert(0, str(packages))


if __name__ == "__main__":
    extend_import_path()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
