"""``headgate policy lint``: a child tries several policies, ends with the first that is refused, and loses none."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli import policy_lint
from headgate.cli.main import headgate

REFUSED = "package headgate\n\nallow if {\n"
GOOD = 'package headgate\n\nallow if input.tool == "github"\n'
DOUBTFUL = 'package headgate\n\nallow if input.tol == "github"\n'


@pytest.mark.parametrize("in_a_child", [1, 2, 50])
def test_each_file_has_its_own_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_a_child: int) -> None:
    monkeypatch.setattr(policy_lint, "_IN_A_CHILD_MAX", in_a_child)
    for position, text in enumerate([GOOD, REFUSED, REFUSED, DOUBTFUL, GOOD, REFUSED]):
        (tmp_path / f"p{position}.rego").write_text(text)
    done = CliRunner().invoke(headgate, ["policy", "lint", str(tmp_path)])
    files = [line.split(":")[:2] for line in done.output.splitlines()[:-1]]
    assert files == [["error", " p1.rego"], ["error", " p2.rego"], ["error", " p5.rego"], ["warning", " p3.rego"]]
    assert done.output.splitlines()[-1] == "3 errors, 1 warning"
    assert done.exit_code == 1
