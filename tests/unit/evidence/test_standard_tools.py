"""What is signed here opens in other people's tools: Go's ``sumdb/note``, and transparency-dev's formats and merkle."""

import asyncio
import base64
import json
import subprocess
from pathlib import Path

import pytest

from headgate.evidence.checkpoint import Checkpoint, origin_of
from headgate.evidence.merkle import leaf_hash
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tiles import TreeBuilder, consistency_spans, roots_of
from tests.go_program import build_go_program
from tests.unit.evidence.conftest import ORG, MadePack

_SOURCE = Path(__file__).parents[2] / "standard_tools"


pytestmark = pytest.mark.timeout(900)  # a Go program is compiled, once


@pytest.fixture(scope="session")
def standard_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_go_program(_SOURCE, tmp_path_factory.mktemp("standard_tools"))


def _call(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_a_pack_opens_with_the_keys_that_it_names(standard_tools: Path, made_pack: MadePack, tmp_path: Path) -> None:
    pack = tmp_path / "pack.zip"
    pack.write_bytes(write_archive(made_pack.members))
    (key,) = made_pack.members["keys.txt"].decode().split()
    found = _call(standard_tools, "-key", key, "-cosigner", made_pack.keys[1], pack)
    assert found.returncode == 0, found.stderr
    said = json.loads(found.stdout)
    assert said["origin"] == f"log.example/{ORG}"
    assert said["signed_by"] == [f"log.example/{ORG}", "witness.example/w1"]
    assert said["proofs"] == len(made_pack.sources.rows)


def test_the_name_that_several_logs_begin_with_opens_none(
    standard_tools: Path, made_pack: MadePack, tmp_path: Path
) -> None:
    """The reason for a key of each log: this is what was handed out before."""
    pack = tmp_path / "pack.zip"
    pack.write_bytes(write_archive(made_pack.members))
    found = _call(standard_tools, "-key", made_pack.keys[0], pack)
    assert found.returncode == 1
    assert "note has no verifiable signatures" in found.stderr


@pytest.mark.parametrize("name", ["checkpoint.txt", "events.json"])
def test_a_change_is_refused(standard_tools: Path, made_pack: MadePack, tmp_path: Path, name: str) -> None:
    (key,) = made_pack.members["keys.txt"].decode().split()
    size = made_pack.members["checkpoint.txt"].split(b"\n")[1]
    changed = {
        "checkpoint.txt": made_pack.members[name].replace(b"\n" + size + b"\n", b"\n3\n", 1),
        "events.json": made_pack.members[name].replace(b"execution.started", b"execution.stopped"),
    }[name]
    assert changed != made_pack.members[name]
    pack = tmp_path / "pack.zip"
    pack.write_bytes(write_archive({**made_pack.members, name: changed}))
    found = _call(standard_tools, "-key", key, pack)
    assert found.returncode == 1
    assert found.stderr


def test_consistency_proofs_hold_there_at_every_size(standard_tools: Path, tmp_path: Path) -> None:
    keys = SigningKeySource(tmp_path / "keys").create("log.example")
    origin = origin_of(keys.log_name, ORG)
    leaves = [leaf_hash(bytes([number])) for number in range(40)]

    def note(size: int) -> str:
        tree = TreeBuilder(0, {})
        tree.append(leaves[:size])
        return asyncio.run(keys.sign(Checkpoint(origin, size, tree.frontier().root()))).render()

    notes = {size: note(size) for size in range(1, 41)}
    files: list[Path] = []
    for new in (1, 2, 7, 8, 33, 40):
        tree = TreeBuilder(0, {})
        tree.append(leaves[:new])
        for old in range(1, new + 1):
            path = [base64.b64encode(one).decode() for one in roots_of(consistency_spans(old, new), tree.changed)]
            files.append(tmp_path / f"{old}-{new}.json")
            files[-1].write_text(
                json.dumps({"first": {"note": notes[old]}, "second": {"note": notes[new]}, "path": path})
            )
    (key,) = keys.verifier_keys(origin)
    found = _call(standard_tools, "-key", key.text, *files)
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) == len(files)
    wrong = json.loads(files[-2].read_text())
    wrong["path"][0] = base64.b64encode(bytes(32)).decode()
    files[-2].write_text(json.dumps(wrong))
    assert _call(standard_tools, "-key", key.text, files[-2]).returncode == 1
