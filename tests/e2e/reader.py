"""A reader of a page, who types its commands into two shells: the agent's, and that of the person who decides.

Ids and addresses of the page stand for those of the instance: ``apr_…`` for the newest pending approval, ``tool.test``
for a service behind the gate. Output is compared without what differs from run to run: ids, hashes, numbers, times.
"""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.command_blocks import Command

_END: Final = "__end_of_the_command__"
_ID: Final = re.compile(r"\b(?!org)([a-z]{3})_(?:…|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_KEY: Final = re.compile(r"headgate/[0-9a-f]{16}/org_\S+")
_SHORT_ID: Final = re.compile(r"\b[0-9a-f]{4}…[0-9a-f]{4}\b")
_OF_AGENTS: Final = re.compile(r"^(?:eval|curl(?!.*(?:\$API|/admin/)))")
_WRITE: Final = re.compile(r"curl .*/payments")
# What differs from run to run, in this order.
_DIFFERS: Final = (
    (re.compile(r"\b(?:[a-z]{3}|org)_[0-9a-f…][0-9a-f…-]*"), "ID"),
    (re.compile(r"sha256:[0-9a-f…]+"), "HASH"),
    (re.compile(r"headgate/[0-9a-f]{16}/ID\+[0-9a-f]{8}\+[A-Za-z0-9+/…]+"), "KEY"),
    (re.compile(r"headgate/[0-9a-f]{16}/ID \(key [0-9a-f]{8}\)"), "KEY"),
    (re.compile(r"root [A-Za-z0-9+/=]+"), "root HASH"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"https?://(?:127\.0\.0\.1|tool\.test)(?::\d+)?"), "ADDRESS"),
    (re.compile(r"\b(?:127\.0\.0\.1|tool\.test)(?::\d+)?(?=[ /\"…])"), "HOST"),
    (re.compile(r"\d+"), "0"),
    (re.compile(r"[─-]{2,}|\s+"), " "),
)


class Shell:
    """bash, command after command, with standard error among the output."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, text: str) -> tuple[int, str]:
        """Exit status and output."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        # Standard input is the shell's own: a command reads nothing from it.
        self._bash.stdin.write(f"{{ {text}\n}} < /dev/null\nprintf '\\n{_END} %s\\n' $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(_END):
                return int(line.split()[1]), "".join(lines).removesuffix("\n")
            lines.append(line)
        raise AssertionError(f"the shell ended: {''.join(lines)}")

    def close(self) -> None:
        self._bash.communicate("exit\n", timeout=20)


class Reader:
    """``newest`` answers with the id for a prefix, and the signing key for ``key``. ``replacements`` are texts of the
    page and what they stand for."""

    def __init__(
        self, agent: Shell, person: Shell, newest: Callable[[str], str], replacements: Mapping[str, str]
    ) -> None:
        self._agent, self._person, self._newest, self._replacements = agent, person, newest, replacements
        self._output = self._last_write = ""

    def type(self, command: Command) -> Iterator[str]:
        """Runs it, and says what differs from the page."""
        if command.text:
            text = self._meant(command.text)
            if _WRITE.match(text):
                self._last_write = text
            status, self._output = (self._agent if _OF_AGENTS.match(text) else self._person).run(text)
            if status != 0:
                yield f"$ {text}\nexit status {status}\n{self._output}"
        if missing := missing_lines(command.shown, self._output):
            yield f"$ {command.text}\nnot shown: {missing}\n{self._output}"

    def write_again(self) -> bool:
        """Repeats the last write that the page shows; false where it has shown none."""
        if self._last_write:
            self._agent.run(self._last_write)
        return bool(self._last_write)

    def _meant(self, text: str) -> str:
        for shown, meant in self._replacements.items():
            text = text.replace(shown, meant)
        text = _ID.sub(lambda found: self._newest(found[1]), text)
        text = _KEY.sub(lambda _: self._newest("key"), text)
        return _SHORT_ID.sub(lambda _: self._newest("apr").removeprefix("apr_"), text)


def missing_lines(shown: tuple[str, ...], output: str) -> list[str]:
    """The lines of a page that an output does not have, in this order. ``…`` stands for anything."""
    lines = [_plain(line) for line in output.splitlines()]
    missing = []
    at = 0
    for line in shown:
        parts = [re.escape(part) for part in _plain(line).split("…")]
        if not "".join(parts).strip():
            continue
        pattern = re.compile(".*".join(parts))
        found = next((number for number in range(at, len(lines)) if pattern.fullmatch(lines[number])), None)
        if found is None:
            missing.append(line)
        else:
            at = found + 1
    return missing


def _plain(line: str) -> str:
    for pattern, instead in _DIFFERS:
        line = pattern.sub(instead, line)
    return line.strip()
