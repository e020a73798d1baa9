"""What is said of a verification: nothing that was not checked is said to be right."""

from pathlib import Path

import pytest

from headgate.cli.audit import read_checkpoints
from headgate.cli.audit_verdict import NotLookedAtError, show_verification
from headgate.kernel.errors import ValidationError

_VALID = {
    "valid": True, "events_verified": 7, "chain_end_hash": "sha256:ab", "checkpoints_verified": 2, "signed_up_to": 6,
    "payloads_erased": 0, "fault": None, "actions_reconciled": 0, "differences": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "the audit log is valid: 7 events, up to sha256:ab; 2 signed checkpoints agree, up to event 6\n"),
        (
            {"checkpoints_verified": 0, "signed_up_to": None},
            "the audit log is valid: 7 events, up to sha256:ab; NO signed checkpoint was compared, so a complete"
            " rewrite would not be detected\n",
        ),
        (
            {"payloads_erased": 3},
            "the audit log is valid: 7 events, up to sha256:ab; 2 signed checkpoints agree, up to event 6\n"
            "3 payloads are erased; an event (body.erased) records each erasure\n",
        ),
        (
            {"actions_reconciled": 5},
            "the audit log is valid: 7 events, up to sha256:ab; 2 signed checkpoints agree, up to event 6\n"
            "5 actions match the audit log, with their approvals, votes and executions\n",
        ),
    ],
    ids=["whole", "unsigned", "erased", "reconciled"],
)
def test_what_is_valid(changed: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_verification(_VALID | changed, as_json=False)
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"seq": 14, "event_id": "evt_1"}, "THE AUDIT LOG IS BROKEN at event number 14 (evt_1), missing: gone\n"),
        ({"seq": 14, "event_id": None}, "THE AUDIT LOG IS BROKEN at event number 14, missing: gone\n"),
        ({"seq": 0, "event_id": None}, "THE AUDIT LOG CANNOT BE VERIFIED, missing: gone\n"),
    ],
    ids=["event", "no event", "no number"],
)
def test_what_is_broken(fault: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = _VALID | {"valid": False, "fault": {"reason": "missing", "message": "gone", **fault}}
    with pytest.raises(SystemExit) as ended:
        show_verification(answer, as_json=False)
    assert (ended.value.code, capsys.readouterr().err) == (1, said)


def test_each_row_that_differs_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    tool = {"table": "actions", "id": "act_1", "column": "tool", "expected": "mail", "found": "read\x1b[2J"}
    row = {"table": "executions", "id": "exe_1", "column": None, "expected": "a row", "found": None}
    fault = {"seq": 0, "event_id": None, "reason": "tables_differ", "message": "…"}
    with pytest.raises(SystemExit) as ended:
        show_verification(_VALID | {"valid": False, "fault": fault, "differences": [tool, row]}, as_json=False)
    first, second, third = capsys.readouterr().err.splitlines()
    assert (ended.value.code, first) == (1, "THE TABLES DIFFER FROM THE AUDIT LOG:")
    assert second.startswith("  actions act_1, tool: expected mail, found read")
    assert "\x1b" not in second
    assert third == "  executions exe_1: expected a row, found nothing"


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_time_in_which_nothing_was_sealed_is_not_a_valid_record(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = {"events_verified": 0, "chain_end_hash": None, "checkpoints_verified": 0, "signed_up_to": None}
    with pytest.raises(NotLookedAtError, match="no event was sealed in this period") as ended:
        show_verification(_VALID | empty, as_json)
    ended.value.show()
    shown = capsys.readouterr()
    assert ended.value.exit_code == 2
    assert shown.err.startswith("headgate: the audit log was NOT verified: ")
    assert (shown.out == "") is not as_json


def test_a_folder_without_checkpoints_is_not_taken_for_agreement(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValidationError, match="contains no checkpoint"):
        read_checkpoints([tmp_path])
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "000000000000010.checkpoint").write_text("a note")
    assert read_checkpoints([tmp_path, tmp_path / "notes.txt"]) == ["a note", "nothing"]
