"""Values survive each shell's quoting; nothing in them is expanded, run or ends a quotation.

sh and bash read back what was written for them, and so does fish where it is installed (Debian: fish). PowerShell is
in no distribution's archive: for it, and for fish everywhere else, a reader of the documented rules of single quotes
stands in, which knows nothing of how the line was written.
"""

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.cli.shells import FORMATS, render
from headgate.kernel.errors import ValidationError

HOSTILE = """a'b"c$HOME`id`\\n $(id) ; & | * ? ~ ! # ü \u2018x\u2019 """

PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), max_size=60)


def read_by(shell: str, value: str) -> str:
    """What a real shell says the variable holds."""
    form = "fish" if shell == "fish" else "sh"
    script = render({"HG_TEST": value}, form) + 'printf %s "$HG_TEST"'
    environment = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    program = shutil.which(shell)
    assert program is not None
    done = subprocess.run([program, "-c", script], capture_output=True, check=True, env=environment)
    return done.stdout.decode()


SHELLS = ["sh", "bash", *(["fish"] if shutil.which("fish") else [])]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_reads_back_what_was_meant(shell: str) -> None:
    assert read_by(shell, HOSTILE) == HOSTILE


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=40, deadline=None)
@given(value=PRINTABLE)
def test_any_text_survives_a_real_shell(shell: str, value: str) -> None:
    assert read_by(shell, value) == value


def fish_reads(line: str) -> str:
    """fish, "Quotes": in single quotes a backslash escapes a single quote and a backslash, and is itself otherwise."""
    found = re.fullmatch(r"set -gx N '((?:[^'\\]|\\.)*)'\n", line)
    assert found is not None, line
    return re.sub(r"\\([\\'])", r"\1", found[1])


def powershell_reads(line: str) -> str:
    """about_Quoting_Rules and the language specification, 2.3.5.2: any of five single-quote characters ends the text
    unless another one of them follows, which stands for the second."""
    quotes = "'\u2018\u2019\u201a\u201b"
    found = re.fullmatch(rf"\$env:N = '((?:[^{quotes}]|[{quotes}]{{2}})*)'\n", line)
    assert found is not None, line
    return re.sub(rf"[{quotes}]([{quotes}])", r"\1", found[1])


@pytest.mark.parametrize(("form", "read"), [("fish", fish_reads), ("powershell", powershell_reads)])
@given(value=st.text(st.sampled_from("'\u2018\u2019\u201a\u201b\\\"$`( );#ab\u00fc"), max_size=30) | PRINTABLE)
def test_any_text_survives_the_rules(form: str, read: Callable[[str], str], value: str) -> None:
    assert read(render({"N": value}, form)) == value


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
    ],
)
def test_each_form(form: str, value: str, line: str) -> None:
    assert render({"N": value}, form) == line + "\n"


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x1b[0m", "a\0"])
def test_a_line_break_is_refused(form: str, value: str) -> None:
    with pytest.raises(ValidationError, match="control character"):
        render({"N": value}, form)
