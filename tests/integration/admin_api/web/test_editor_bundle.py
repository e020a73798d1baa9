"""The committed editor is what its sources make: with the packages of web/package-lock.json, byte for byte."""

import os
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[4]


def test_the_committed_bundle_is_what_make_web_makes(tmp_path: Path) -> None:
    made = tmp_path / "editor.js"
    subprocess.run(
        ["npm", "--prefix", str(_ROOT / "web"), "run", "--silent", "build"],
        check=True,
        env=os.environ | {"OUT": str(made)},
        timeout=120,
    )
    assert made.read_bytes() == (_ROOT / "admin_api" / "static" / "editor.js").read_bytes(), "run: make web"
