"""A proxy process loads none of what it has no use for."""

import subprocess
import sys

_PROGRAM = """
import sys
import proxy.server
print(*(name for name in ("ldap3", "flask", "mitmproxy.addons.proxyauth", "mitmproxy.addons.onboarding",
                          "mitmproxy.addons.script") if name in sys.modules))
print("mitmproxy.addons.tlsconfig" in sys.modules)
"""


def test_what_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "\nTrue\n"


def test_where_the_whole_package_is_there_it_stays() -> None:
    program = "import mitmproxy.addons, proxy.lean_addons; print(len(mitmproxy.addons.default_addons()) > 20)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
