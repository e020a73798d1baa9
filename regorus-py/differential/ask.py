"""The same calls, here and in a program made of OPA's Go module."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regorus import EvaluationError, Policy, RegoError, canonical_json
from regorus._engine import call_builtins

RUNNER = Path(__file__).parent / "runner"
BUILD_TIMEOUT_SECONDS = 900
ASK_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Call:
    """A builtin with its arguments; a set is ``{"$set": [...]}``."""

    name: str
    arguments: tuple[object, ...]

    def line(self) -> bytes:
        """As both programs read it."""
        return canonical_json({"name": self.name, "arguments": list(self.arguments)})


EXPRESSION = "expression"


@dataclass(frozen=True)
class Expression:
    """An expression of Rego without variables."""

    text: str
    name = EXPRESSION

    def line(self) -> bytes:
        """As OPA's program reads it."""
        return canonical_json({"expression": self.text})


@dataclass(frozen=True)
class Module:
    """A policy to compile; the outcome lists OPA's complaints."""

    text: str

    def line(self) -> bytes:
        """As OPA's program reads it."""
        return canonical_json({"module": self.text})


DECISION = "decision"


@dataclass(frozen=True)
class Decision:
    """A policy in package ``t`` whose rule ``r`` is evaluated."""

    text: str
    input: object
    name = DECISION

    def line(self) -> bytes:
        """As OPA's program reads it."""
        return canonical_json({"module": self.text, "query": "data.t.r", "input": self.input})


def go_is_present() -> bool:
    """Whether OPA can be asked."""
    return shutil.which("go") is not None


def build(program: Path) -> None:
    """Builds the program that calls OPA's builtins; fetches the module where it is not there yet."""
    command = ["go", "build", "-o", str(program), "."]
    subprocess.run(command, cwd=RUNNER, check=True, timeout=BUILD_TIMEOUT_SECONDS)


def ask_opa(program: Path, calls: Sequence[Call | Expression | Decision | Module]) -> list[bytes]:
    """OPA's outcomes, a line each."""
    lines = b"".join(call.line() + b"\n" for call in calls)
    done = subprocess.run([program], input=lines, capture_output=True, check=True, timeout=ASK_TIMEOUT_SECONDS)
    return done.stdout.splitlines()


def ask_here(calls: Sequence[Call | Expression | Decision]) -> list[bytes]:
    """The outcomes here, a line each."""
    lines = b"".join(one.line() + b"\n" for one in calls if isinstance(one, Call))
    answers = iter(call_builtins(lines).splitlines())
    return [next(answers) if isinstance(one, Call) else _evaluated(one) for one in calls]


def _evaluated(asked: Expression | Decision) -> bytes:
    try:
        if isinstance(asked, Decision):
            value = Policy(asked.text).query("r", canonical_json(asked.input))
        else:
            value = Policy(f"package t\n\nx := {asked.text}\n").query("x", b"{}")
    except (RegoError, EvaluationError) as error:
        return canonical_json({"error": str(error)})
    return b'{"value":%b}' % value if value else b"{}"
