"""As ``headgate.cli.forked_parts``; a part tells about itself and waits instead of serving."""

import gc
import json
import os
import ssl
import sys
import time
from pathlib import Path

from headgate.cli import forked_parts


def tell() -> None:
    folder = Path(os.environ["TOLD"])
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    told = {
        "arguments": sys.argv,
        "environment": dict(os.environ),
        "leads_session": os.getsid(0) == os.getpid(),
        "files": {link.name: str(link.readlink()) for link in links if link.exists()},
        "collects": gc.isenabled(),
        "title": Path("/proc/self/cmdline").read_bytes().rstrip(b"\0").decode(),
        "has_loaded": "colorsys" in sys.modules,
        "drawn": _drawn() if sys.argv[1] == "proxy" else [],
    }
    (folder / "half").write_text(json.dumps(told))
    (folder / "half").rename(folder / "told")
    time.sleep(float(os.environ.get("SECONDS", "100")))
    sys.exit(7)


def answer() -> None:
    sys.stdout.write(f"of the task: {os.environ['TOLD']}\n")
    sys.stderr.write("a log line\n")
    time.sleep(float(os.environ.get("SECONDS", "0")))


def fail() -> None:
    sys.exit(7)


def _drawn() -> list[object]:
    """From the generators of OpenSSL, of which there are two: Python's and that of ``cryptography``."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - half a second, for one test

    return [ssl.RAND_bytes(16).hex(), ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value]


if __name__ == "__main__":
    first_uses = ("headgate.runtime.first_uses:use_tls", "headgate.runtime.first_uses:use_cryptography")
    forked_parts.MODULES.update({"worker": ("colorsys",), "api": ("no_such_module",), "proxy": first_uses})
    forked_parts.MODULES.update({"prepare": (), "token": ()})
    forked_parts.TASKS.update({"prepare": f"{__name__}:answer", "token": f"{__name__}:fail"})
    forked_parts.run_command = tell
    forked_parts.main()
