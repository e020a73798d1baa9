"""Where no collector is named, no process imports what exports to one. (redis and Starlette import OpenTelemetry's API
by themselves where it is installed; a plain installation does not have it.)"""

import subprocess
import sys

import pytest

EXPORTS = {"opentelemetry.exporter", "headgate.telemetry.export", "headgate.telemetry.batches", "addons.trace"}


@pytest.mark.parametrize("module", ["proxy.server", "admin_api.server", "headgate.worker.main"])
def test_nothing_is_imported(module: str) -> None:
    program = f"import sys, headgate.cli.parts, {module}; print([one for one in sys.modules if {EXPORTS} & {{one}}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.strip() == "[]"
