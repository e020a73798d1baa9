"""As ``headgate.cli.forked_parts``; a part tells about itself and waits instead of serving."""

import gc
import json
import os
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
    }
    (folder / "half").write_text(json.dumps(told))
    (folder / "half").rename(folder / "told")
    time.sleep(float(os.environ.get("SECONDS", "100")))
    sys.exit(7)


if __name__ == "__main__":
    forked_parts.MODULES.update({"worker": ("colorsys",), "api": ("no_such_module",)})
    forked_parts.run_command = tell
    forked_parts.main()
