"""OPA's own cases come to what the table says; where Go cannot fetch them, table and page agree at least."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
PASSED_MIN = 1_998


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(HERE))
    from conformance import table  # noqa: PLC0415 - it stands beside the package, not in it

    return table


def test_the_page_is_made_from_the_table(table: object) -> None:
    rows = table.read_table(table.TABLE.read_text())  # type: ignore[attr-defined]
    assert table.page(rows) == table.PAGE.read_text()  # type: ignore[attr-defined]


def test_no_case_has_another_value_than_opas(table: object) -> None:
    rows = table.read_table(table.TABLE.read_text())  # type: ignore[attr-defined]
    assert table.counts(rows)["passed"] >= PASSED_MIN  # type: ignore[attr-defined]
    assert [row.id for row in rows if row.kind == "other value"] == []
    assert [row.id for row in rows if row.kind == "value for error"] == [
        "providers-aws-sign_req/failure-simple-bad timestamp"
    ]


def test_the_cases_come_to_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    from conformance.cases import go_is_present  # noqa: PLC0415 - the same

    if not go_is_present():
        return  # the two tests above are all that can be done
    command = [sys.executable, "-m", "conformance", "--check"]
    done = subprocess.run(command, check=False, cwd=HERE, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]
