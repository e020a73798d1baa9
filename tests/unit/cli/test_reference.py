"""The page of commands is what the commands say."""

import subprocess
import sys
from pathlib import Path

from headgate.cli.main import headgate

ROOT = Path(__file__).resolve().parents[3]


def test_the_reference_page_is_what_help_says() -> None:
    # In a process of its own: a command that another test called by itself keeps the options of that call.
    written = [sys.executable, "-m", "headgate.cli.reference"]
    said = subprocess.run(written, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    page = ROOT / "docs" / "reference" / "cli.md"
    assert page.read_text("utf-8") == said, "run make reference"


def test_the_overview_names_each_command_as_it_names_itself() -> None:
    context = headgate.make_context("headgate", ["--help"], resilient_parsing=True)
    for name in headgate.list_commands(context):
        command = headgate.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.help
