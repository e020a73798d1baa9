"""The Python client's wheel, installed into an empty environment, and used with an instance."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.instance import Instance

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".uv" / "bin" / "uv"
OF_HTTPX = {"httpcore", "h11", "anyio", "certifi", "idna", "typing_extensions", "typing-extensions"}
PROGRAM = """
import sys, threading, time
from headgate_client import Client, ForbiddenError, operations

url, agent_key, token = sys.argv[1:]
with Client(url, agent_key=agent_key) as agent, Client(url, token=token) as person:
    def approve():
        while not (waiting := [one for one in person.entries(operations.list_approvals(status="pending"))
                               if one["action"]["tool"] == "python_client"]):
            time.sleep(0.1)
        person.send(operations.approve_approval(waiting[0]["id"], {"comment": "from a test"}))
    threading.Thread(target=approve, daemon=True).start()
    print(agent.submit("python_client", "send", {"to": "ana@example.com"}, wait_seconds=60)["status"])
    try:
        agent.send(operations.list_approvals())
    except ForbiddenError as refused:
        print(refused.details["missing_scope"])
"""
TYPED = """
from headgate_client import Client, operations

with Client("http://127.0.0.1:8470", token="…") as client:
    name: str = client.send(operations.get_agent("agt_…"))["name"]
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment with the wheel, what it requires, and nothing else."""
    wheels, environment = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment") / "venv"
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    subprocess.run(build, cwd=ROOT / "clients" / "python", check=True, capture_output=True, timeout=60)
    [wheel] = wheels.iterdir()
    assert wheel.stat().st_size < 64 * 1024
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True, timeout=60)
    # The versions of the lock, so that the test does not change with the index.
    which = [wheel, "--constraint", ROOT / "requirements.lock"]
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, *which], check=True, timeout=100)
    return python


def test_it_brings_httpx_and_nothing_of_the_service(python: Path) -> None:
    listed = [UV, "pip", "list", "--quiet", "--python", python, "--format", "freeze"]
    names = {line.split("==")[0] for line in subprocess.check_output(listed, text=True, timeout=60).splitlines()}
    assert {"headgate-client", "httpx"} <= names <= {"headgate-client", "httpx", *OF_HTTPX}
    program = "import sys, headgate_client.operations as o; assert 'headgate' not in sys.modules; print(o.__name__)"
    imported = subprocess.check_output([python, "-P", "-c", program], text=True, timeout=60)
    assert imported == "headgate_client.operations\n"


def test_an_action_waits_for_a_person(python: Path, instance: Instance) -> None:
    runtime = instance.runtime
    command = [python, "-P", "-c", PROGRAM, runtime["api_url"], runtime["agent_key"], runtime["admin_token"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert done.stdout.split() == ["approved", "approvals:read"], done.stderr


def test_its_types_are_there(python: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TYPED)
    checked = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "program.py"]
    done = subprocess.run(checked, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
