"""The wheel, as people install it: into an environment of its own, from a folder with our two wheels and the index for
everything else."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.reports.basis import to_document
from headgate.reports.frames import write_document, write_end
from headgate.reports.model import ReportFormat
from tests.unit.reports.run_of import basis_of

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".uv" / "bin" / "uv"
ENGINE_WHEELS = ROOT / ".venv" / ".wheels"
OURS_IN_THE_REPOSITORY = {"proxy", "addons", "admin_api", "config", "tests"}


@dataclass(frozen=True)
class Installed:
    python: Path
    site_packages: Path
    home: Path
    """An empty folder: the environment of its programs has nothing else."""

    def run(self, *command: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)},
            input=given,
            capture_output=True,
            check=False,
            timeout=90,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    wheels, environment = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment") / "venv"
    run = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True, timeout=60)
    for engine in ENGINE_WHEELS.glob("*.whl"):
        (wheels / engine.name).symlink_to(engine)
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True, timeout=60)
    # The versions of the lock, so that the test does not change with the index.
    which = ["--find-links", wheels, "--constraint", ROOT / "requirements.lock", "headgate"]
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, *which], check=True, timeout=300)
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    where = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    return Installed(python, Path(where), tmp_path_factory.mktemp("home"))


@pytest.mark.timeout(300)
def test_nothing_of_ours_is_loose_in_site_packages(installed: Installed) -> None:
    assert {one.name for one in installed.site_packages.iterdir()} & OURS_IN_THE_REPOSITORY == set()
    [metadata] = installed.site_packages.glob("headgate-*.dist-info")
    records = (metadata / "RECORD").read_text().splitlines()
    program, *files = sorted(line.split(",")[0] for line in records)
    assert program == "../../../bin/headgate"
    assert {file.split("/")[0] for file in files} == {"headgate", metadata.name}


def test_a_program_that_imports_the_client_gets_none_of_our_packages(installed: Installed) -> None:
    for name in sorted(OURS_IN_THE_REPOSITORY - {"tests"}):
        done = installed.run(installed.python, "-P", "-c", f"import headgate.client, {name}")
        assert f"No module named '{name}'".encode() in done.stderr


@pytest.mark.timeout(150)
def test_the_demonstration_runs_to_its_end_beside_packages_of_the_same_names(installed: Installed) -> None:
    strangers = [folder / name for folder in (installed.site_packages, installed.home) for name in ("proxy", "addons")]
    for stranger in strangers:
        stranger.mkdir()
        (stranger / "__init__.py").write_text("raise RuntimeError('not the package of this name that was meant')\n")
    done = installed.run(installed.python.with_name("headgate"), "demo")
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1].startswith("   ok: the chain is valid: ")
    assert b"the retry used the approval, once, and went through" in done.stdout


def test_a_process_of_a_part_finds_its_packages(installed: Installed) -> None:
    question = json.dumps({"work": "check", "expression": "~m GET"}).encode()
    module = ["headgate.kernel.import_path", "admin_api.traffic.review_child"]
    done = installed.run(installed.python, "-P", "-m", *module, given=len(question).to_bytes(4) + question)
    assert done.stdout[4:] == b'{"answer": null}', done.stderr.decode()


def test_a_pdf_report_without_its_extra_says_so(installed: Installed) -> None:
    basis = basis_of(0, ReportFormat.PDF)
    whole = write_document(to_document(basis)) + write_end()
    done = installed.run(installed.python, "-P", "-m", "headgate.reports.render_child", "1", "1000000", given=whole)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "PDF reports need the extra reports, which is not installed here. Install it where this process runs:"
        " pip install 'headgate[reports]'"
    ]


def test_a_message_by_apprise_without_its_extra_says_so(installed: Installed) -> None:
    program = """
import asyncio
from headgate.kernel.secrets import Secret
from headgate.notifications.apprise_process import AppriseProcess
from headgate.organizations.destinations import Allowlist

async def send():
    process = AppriseProcess(None)
    answer = await process.send(Secret("ntfy://topic"), "title", "body", Allowlist(()))
    await process.close()
    print(answer.succeeded, answer.failure, answer.said)

asyncio.run(send())
"""
    done = installed.run(installed.python, "-P", "-c", program)
    said = "messages to this service need the extra notifications, which is not installed here."
    assert done.stdout.decode().startswith(f"False missing_extra {said}"), done.stderr.decode()


def test_the_engine_of_the_same_version_is_required(installed: Installed) -> None:
    [ours] = installed.site_packages.glob("headgate-*.dist-info")
    [engine] = installed.site_packages.glob("headgate_regorus-*.dist-info")
    version = ours.name.removeprefix("headgate-").removesuffix(".dist-info")
    assert engine.name == f"headgate_regorus-{version}.dist-info"
    assert f"Requires-Dist: headgate-regorus=={version}" in (ours / "METADATA").read_text().splitlines()
