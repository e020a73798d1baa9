"""Values survive each shell's quoting; nothing in them is expanded, run or ends a quotation."""

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.cli.shells import FORMATS, render
from headgate.kernel.errors import ValidationError

HOSTILE = """a'b"c$HOME`id`\\n $(id) ; & | * ? ~ ! # ü \u2018x\u2019 """

PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), max_size=60)


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_real_shell_reads_back_what_was_meant(shell: str) -> None:
    program = shutil.which(shell)
    assert program is not None
    script = render({"HG_TEST": HOSTILE}, "sh") + 'printf %s "$HG_TEST"'
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == HOSTILE


@settings(max_examples=40, deadline=None)
@given(value=PRINTABLE)
def test_any_text_survives_sh(value: str) -> None:
    script = render({"HG_TEST": value}, "sh") + 'printf %s "$HG_TEST"'
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == value


@pytest.mark.parametrize(
    ("form", "value", "line"),
    [
        ("sh", "plain", "export N='plain'"),
        ("sh", "it's", "export N='it'\\''s'"),
        ("fish", "it's \\ $x", "set -gx N 'it\\'s \\\\ $x'"),
        ("powershell", "it's $x `", "$env:N = 'it''s $x `'"),
        ("powershell", "it’s", "$env:N = 'it’’s'"),  # noqa: RUF001 - PowerShell takes it for a quote
        ("dotenv", 'a "b" $c', "N='a \"b\" $c'"),
        ("dotenv", 'it\'s "$x" `y` \\', 'N="it\'s \\"\\$x\\" \\`y\\` \\\\"'),
        ("docker", 'it\'s "as" is $x', 'N=it\'s "as" is $x'),
    ],
)
def test_each_form(form: str, value: str, line: str) -> None:
    assert render({"N": value}, form) == line + "\n"


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x1b[0m", "a\0"])
def test_a_line_break_is_refused(form: str, value: str) -> None:
    with pytest.raises(ValidationError, match="control character"):
        render({"N": value}, form)
