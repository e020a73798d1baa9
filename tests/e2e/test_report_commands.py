"""``headgate reports`` against a running instance: made by its worker, written whole, and the same when made again."""

import json
from pathlib import Path

from tests.e2e.instance import Instance


def test_made_written_shown_and_made_again(instance: Instance, tmp_path: Path) -> None:
    first, second = tmp_path / "first.pdf", tmp_path / "second.pdf"
    done = instance.try_subcommand("reports", "create", "compliance", "--output", str(first))
    assert done.returncode == 0, done.stderr
    assert "it is based on the checkpoint of" in done.stdout
    assert first.read_bytes().startswith(b"%PDF-1.7")

    listed = json.loads(instance.try_subcommand("reports", "list", "--json").stdout)["data"]
    report = next(one for one in listed if one["type"] == "compliance")
    assert (report["status"], report["size_bytes"]) == ("ready", first.stat().st_size)
    shown = instance.try_subcommand("reports", "show", report["id"]).stdout
    assert report["sha256"] in shown
    again = instance.try_subcommand(
        "reports", "create", "compliance", "--to", report["end_date"], "--checkpoint",
        str(report["checkpoint"]["size"]), "--output", str(second),
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert first.read_bytes() == second.read_bytes()


def test_taken_later_deleted_and_then_not_there(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "access.csv"
    asked = instance.try_subcommand("reports", "create", "access", "--format", "csv", "--no-wait", "--json")
    report_id = json.loads(asked.stdout)["id"]
    taken = instance.try_subcommand("reports", "download", report_id, "--output", str(path))
    assert taken.returncode == 0, taken.stderr
    assert path.read_text("utf-8").startswith('"section","seq"')
    assert instance.try_subcommand("reports", "delete", report_id, "--yes").returncode == 0
    gone = instance.try_subcommand("reports", "download", report_id)
    assert gone.returncode == 1
    assert f"no report {report_id}" in gone.stderr


def test_what_is_wrong_is_said(instance: Instance) -> None:
    reversed_range = ("--from", "2026-02-02", "--to", "2026-02-01")
    done = instance.try_subcommand("reports", "create", "activity", *reversed_range)
    assert done.returncode == 1
    assert "end_date is before start_date" in done.stderr
