"""Chains of requests that use what earlier answers named: created, changed, deleted, asked for again.

Schemathesis derives the links between operations from the description, and does so in its command alone.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_chains_of_requests_find_nothing(api, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime.json"
    runtime.write_text(json.dumps({"api_url": api.url}), "utf-8")
    ran = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            *("run", "docs/openapi.json", "--url", api.url, "--phases", "stateful", "--max-examples", "20"),
            *("--continue-on-failure", "--no-shrink", "--generation-deterministic"),
            *("--suppress-health-check", "all", "--warnings", "off", "--no-color"),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.contract.schemathesis_hooks",
            "HEADGATE_RUNTIME_FILE": str(runtime),
            "HEADGATE_DATA_DIR": str(api.data_dir),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    assert " passed" in ran.stdout
