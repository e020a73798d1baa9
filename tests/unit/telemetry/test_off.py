"""Where no collector is named, no process imports what exports to one. (redis and Starlette import OpenTelemetry's API
by themselves where it is installed; a plain installation does not have it.)"""

import json
import subprocess
import sys

EXPORTS = {"opentelemetry.exporter", "headgate.telemetry.export", "headgate.telemetry.batches", "addons.trace"}
PARTS = ["proxy.server", "admin_api.server", "headgate.worker.main"]

# One process after all three: what none of them has imported, each alone has not.
_PROGRAM = f"""
import importlib, json, sys
import headgate.cli.parts

found = {{}}
for part in {PARTS}:
    importlib.import_module(part)
    found[part] = sorted({EXPORTS} & set(sys.modules))
print(json.dumps(found))
"""


def test_nothing_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=200)
    assert json.loads(done.stdout) == {part: [] for part in PARTS}
