"""The TypeScript client as npm packs it, installed into an empty folder, and used by Node.js and by a compiler."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.e2e.instance import Instance

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
TSC = PACKAGE / "node_modules" / ".bin" / "tsc"


def _run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(cwd), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert TSC.exists(), "run make tests, or npm ci in clients/typescript, to install the compiler"
    folder = tmp_path_factory.mktemp("package")
    # A copy: packing writes beside the sources, and another test may run meanwhile.
    copy = folder / "clients" / "typescript"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("dist"), symlinks=True)
    shutil.copy(PACKAGE.parents[1] / "LICENSE", folder)
    [packed] = json.loads(_run("npm", "pack", "--json", "--silent", cwd=copy))
    return copy / str(packed["filename"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tarball: Path) -> Path:
    """A folder with nothing but the package and our tests of it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"type": "module", "private": true}')
    _run("npm", "install", "--offline", "--silent", "--no-audit", "--no-fund", tarball, cwd=folder)
    for file in (PACKAGE / "test").iterdir():
        shutil.copy(file, folder)
    return folder


def test_the_package_is_code_types_readme_and_license_without_dependencies(tarball: Path, project: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert {"package.json", "LICENSE", "README.md", "dist/index.js", "dist/index.d.ts", "dist/types.d.ts"} <= names
    assert {name.split("/")[0] for name in names} == {"package.json", "LICENSE", "README.md", "dist"}
    installed = [one.name for one in (project / "node_modules").iterdir() if not one.name.startswith(".")]
    assert installed == ["headgate-client"]
    assert tarball.stat().st_size < 64 * 1024


def test_it_waits_and_repeats(project: Path) -> None:
    _run("node", "--test", "waiting.test.js", cwd=project)


def test_it_works_with_an_instance(project: Path, instance: Instance) -> None:
    runtime = instance.runtime
    who = {"HEADGATE_AGENT_KEY": runtime["agent_key"], "HEADGATE_TOKEN": runtime["admin_token"]}
    _run("node", "--test", "instance.test.js", cwd=project, HEADGATE_API_URL=runtime["api_url"], **who)


def test_a_program_that_uses_its_types_compiles(project: Path) -> None:
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"]
    _run(TSC, *options, "consumer.ts", cwd=project)
