"""Master keys that a KMS wraps, in a whole instance: the file opens nothing, and while the KMS is away only a process
that starts refuses calls."""

import json
from base64 import b64decode
from contextlib import closing
from pathlib import Path

from tests.e2e.clients import Administrator, Agent
from tests.e2e.conftest import LOOPBACK
from tests.e2e.instance import Instance, running
from tests.e2e.upstream import Upstream
from tests.e2e.waiting import wait_for
from tests.key_management import transit_service
from tests.transit_server import TOKEN


def _secrets(instance: Instance, name: str, *words: str) -> str:
    done = instance.try_subcommand("secrets", name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_instance_starts_rotates_and_recovers_with_wrapped_keys(
    tmp_path: Path, certificates: tuple[Path, Path], upstream: Upstream
) -> None:
    folder = tmp_path / "instance"
    folder.mkdir()
    file = folder / "data" / "vault" / "master-keys.json"
    with (
        transit_service(tmp_path) as service,
        running(folder, certificates[0], HEADGATE_PROXY_WORKERS="1", **service.variables) as instance,
    ):
        with closing(Administrator(instance)) as administrator:
            administrator.allow_destinations(LOOPBACK)
        old = json.loads(file.read_text())
        _secrets(instance, "wrap", "--kms", service.kms, "--installation", "e2e")
        _secrets(instance, "rotate", "--settle-seconds", "0")
        _secrets(instance, "status")

        with closing(Agent(instance)) as agent:

            def status() -> int:
                return agent.call("GET", upstream.url + "/wrapped").status_code

            assert status() == 200
            service.front.fault = "refused"
            assert status() == 200  # a process that runs has its keys
            instance.wait_until_restarted("proxy", instance.kill("proxy"))
            assert status() == 503
            asked = service.front.asked
            assert status() == 503
            service.front.fault = None
            wait_for(lambda: status() == 200, "the proxy has its keys", seconds=60)
            assert service.front.asked > asked

        document = json.loads(file.read_text())
        assert all(entry["kms"] == service.kms for entry in document["keys"].values())
        log = instance.log.read_text(errors="replace")
        assert "answered 403" in log and TOKEN not in log
        shown = [instance.log.read_bytes(), file.read_bytes(), instance.runtime_file.read_bytes()]
        for key in old["keys"].values():
            assert not any(key.encode() in one or b64decode(key) in one for one in shown)
