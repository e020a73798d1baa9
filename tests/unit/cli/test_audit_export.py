"""Exports of packs, in both forms, and what is wrong with one."""

import json
import zipfile
from pathlib import Path

import pytest

from headgate.cli.audit_export import Inspected, inspect, write_bundle, write_folder
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_verifier import Key, parse_key
from headgate.kernel.errors import ValidationError
from tests.unit.evidence.conftest import ACTION, MadePack
from tests.unit.evidence.conftest import made_pack as made_pack  # noqa: PLC0414 - a fixture of those tests

_ABOUT = {"from": "2026-11-01", "to": None}


def _keys(made: MadePack) -> list[Key]:
    return [parse_key(made.keys[0])]


def _written(made: MadePack, path: Path) -> Path:
    packs = iter([(f"{ACTION}.zip", write_archive(made.members))])
    assert (write_folder if path.suffix == "" else write_bundle)(packs, path, _ABOUT) == 1
    return path


@pytest.mark.parametrize("name", ["folder", "bundle.zip"])
def test_an_export_is_inspected_without_a_service(made_pack: MadePack, tmp_path: Path, name: str) -> None:
    (found,) = inspect(_written(made_pack, tmp_path / name), _keys(made_pack))
    assert found.report is not None
    assert (found.report["action_id"], found.report["status"]) == (ACTION, "completed")


def test_what_is_wrong_with_a_pack_is_said(made_pack: MadePack, tmp_path: Path) -> None:
    folder = _written(made_pack, tmp_path / "folder")
    (folder / "more.zip").write_bytes(b"x")
    pack = folder / f"{ACTION}.zip"
    content = pack.read_bytes()
    pack.write_bytes(content[:-1] + (b"1" if content.endswith(b"0") else b"0"))
    reasons = {one.name: one.reason for one in inspect(folder, _keys(made_pack))}
    assert reasons == {
        "more.zip": "the manifest does not name it",
        f"{ACTION}.zip": "it differs from the pack that the manifest names",
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["packs"][0] = {"file": "../../etc/passwd", "sha256": "x"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert Inspected("../../etc/passwd", None, "the manifest names it, but it is missing") in set(
        inspect(folder, _keys(made_pack))
    )


def test_a_key_that_did_not_sign_believes_none(made_pack: MadePack, tmp_path: Path) -> None:
    stranger = parse_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    (found,) = inspect(_written(made_pack, tmp_path / "folder"), [stranger])
    assert "no key of yours signed" in (found.reason or "")


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"x")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a", "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "manifest.json").write_text('{"format": "other"}')
    for name in ("a.zip", "b.zip", "c", "."):
        with pytest.raises(ValidationError):
            list(inspect(tmp_path / name, []))
