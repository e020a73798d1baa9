"""``headgate demo``: the whole story without internet, on an instance of its own that is thrown away afterwards."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headgate.demo.certificates import write_service_certificate
from headgate.demo.service import InvoiceService
from headgate.demo.story import Gate, Story
from headgate.kernel.errors import UnavailableError

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0


def run_demo(say: Callable[[str], None]) -> bool:
    """Start an instance and a service, play, stop both. Returns whether everything went as it should."""
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as name:
        folder = Path(name)
        root, certificate = write_service_certificate(folder, "127.0.0.1")
        service = InvoiceService(certificate)
        service.start()
        say("Starting a temporary Headgate instance for this demonstration …")
        instance = _start(folder, root)
        try:
            gate = _wait_until_ready(instance, folder / "runtime.json", folder / "instance.log")
            return Story(gate, service, say).play()
        finally:
            _stop(instance)
            service.stop()


def _start(folder: Path, root: Path) -> subprocess.Popen[bytes]:
    # Client commands in other shells go on finding the user's own instance.
    environment = {**os.environ, "HEADGATE_UPSTREAM_CA_FILE": str(root), "XDG_STATE_HOME": str(folder)}
    # The demonstration's instance uses its own servers, whatever this shell is set up for.
    for name in [name for name in environment if name.endswith("_DATABASE_URL") or name == "HEADGATE_REDIS_URL"]:
        del environment[name]
    command = [sys.executable, "-P", "-m", "headgate.cli.main", "up", "--data-dir", str(folder / "data")]
    command += ["--runtime-file", str(folder / "runtime.json"), "--api-port", "0", "--proxy-port", "0"]
    with (folder / "instance.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _wait_until_ready(instance: subprocess.Popen[bytes], runtime_file: Path, log: Path) -> Gate:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and instance.poll() is None:
        if runtime_file.exists():
            runtime = json.loads(runtime_file.read_text())
            return Gate(
                api_url=runtime["api_url"],
                proxy_url=runtime["proxy_url"],
                ca_cert=runtime["ca_cert"],
                agent_key=runtime["agent_key"],
                admin_token=runtime["admin_token"],
                runtime_file=runtime_file,
            )
        time.sleep(0.05)
    last_lines = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
    raise UnavailableError(f"the instance did not start; the end of its log:\n{last_lines}")


def _stop(instance: subprocess.Popen[bytes]) -> None:
    instance.send_signal(signal.SIGTERM)
    try:
        instance.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        instance.kill()
        instance.wait()
