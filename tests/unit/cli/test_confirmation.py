"""Commands that delete something ask on a terminal, and need ``--yes`` without one."""

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from headgate.cli.main import headgate
from headgate.kernel.errors import NotFoundError
from tests.http_server import any_server

_ID = "01a2b3c4-0000-7000-8000-00000000aaaa"
_VERBS = {"delete", "erase", "forget", "remove"}
_DOCUMENTS = {
    "/admin/settings/allowlist": {"destinations": [{"host": "files.example.com"}]},
    "/admin/settings/siem": {
        "destinations": {"soc": {"address": "tls://siem.example", "enabled": True, "from": "end"}}
    },
}
COMMANDS = [
    ("policy", "delete", f"pol_{_ID}"),
    ("connections", "delete", f"con_{_ID}"),
    ("webhooks", "delete", f"whk_{_ID}"),
    ("reports", "delete", f"rep_{_ID}"),
    ("allowlist", "remove", "files.example.com"),
    ("siem", "remove", "soc"),
    ("mcp-tools", "forget", "mcp_tools_example"),
    ("retention", "erase", f"act_{_ID}", "--reason", "x"),
]
_TABLE = pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
type Answers = Callable[[str], None]


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """An API with two documents; the methods by which it was asked to change something."""
    found: list[str] = []

    def answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        if method == "GET" and (document := _DOCUMENTS.get(target.partition("?")[0])) is not None:
            return 200, "application/json", json.dumps(document).encode()
        found.append(method)
        refusal = {"error": {"code": "NOT_FOUND", "message": "the API was asked"}}
        return 404, "application/json", json.dumps(refusal).encode()

    with any_server(answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        yield found


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """A terminal on which a person types this."""
    person, program = os.openpty()
    with os.fdopen(program, encoding="utf-8") as given, os.fdopen(os.dup(program), "w", encoding="utf-8") as said:

        def typed(text: str) -> None:
            monkeypatch.setattr("sys.stdin", given)
            monkeypatch.setattr("sys.stderr", said)
            os.write(person, text.encode())

        yield typed
    os.close(person)


def _call(*words: str) -> None:
    headgate.main(list(words), prog_name="headgate", standalone_mode=False)


@_TABLE
def test_without_a_terminal_nothing_is_deleted(
    changed: list[str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(click.UsageError, match=r"\? There is no terminal to ask on: repeat the command with --yes"):
        _call(*words)
    assert changed == []


@_TABLE
def test_a_script_says_so_beforehand(changed: list[str], words: tuple[str, ...]) -> None:
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*words, "--yes")
    assert len(changed) == 1


@_TABLE
def test_a_person_is_asked(changed: list[str], words: tuple[str, ...], types: Answers) -> None:
    types("n\n")
    with pytest.raises(click.Abort):
        _call(*words)
    types("\n")  # no is the default
    with pytest.raises(click.Abort):
        _call(*words)
    assert changed == []
    types("y\n")
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*words)
    assert len(changed) == 1


def test_other_questions_need_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(click.UsageError, match="repeat the command with --yes"):
        _call("ca", "rotate", "--data-dir", str(tmp_path))


def test_the_table_has_every_command_that_deletes_something() -> None:
    assert sorted(_deleting(headgate, click.Context(headgate))) == sorted(one[:2] for one in COMMANDS)


def _deleting(group: click.Group, context: click.Context, *path: str) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _deleting(command, click.Context(command, parent=context), *path, name)
            continue
        asks = any("--yes" in one.opts for one in command.params)
        assert asks or name not in _VERBS, (path, name)
        if name in _VERBS:
            yield (*path, name)
