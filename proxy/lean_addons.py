"""``mitmproxy.addons`` without the addons that the gate never uses.

The package imports every addon that mitmproxy has, an LDAP client and a web framework among them: a fifth of the time
that a proxy process takes to load, and code that nothing here calls. Its modules can be imported by themselves; to be
imported before any of them.
"""

import importlib.util
import sys
from typing import Final

import mitmproxy

_PACKAGE: Final = "mitmproxy.addons"


def _take_its_place() -> None:
    """The package with its path, and with nothing of it executed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None:
        raise ModuleNotFoundError(f"no module named {_PACKAGE}", name=_PACKAGE)
    package = importlib.util.module_from_spec(found)
    sys.modules[_PACKAGE] = package
    vars(mitmproxy)["addons"] = package


if _PACKAGE not in sys.modules:
    _take_its_place()
