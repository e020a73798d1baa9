"""Rego rules ``test_…`` as in OPA: in the policy's file, or in a module of their own.

Each policy has its own engine and reads no other package, so a test module is merged into the policy: its imports
before the policy's rules, its rules after them. Its references ``data.mine.allow`` or, with ``import data.mine``,
``mine.allow`` become the rule of that name.
"""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import ValidationError
from headgate.policies.compile import SOURCE_NAME, PolicyRefusedError, compile_policy
from headgate.policies.suites.model import TestModule
from headgate.policies.tree import nodes

_TEST_PACKAGE_SUFFIX: Final = "_test"
_PACKAGE: Final = re.compile(r"^[ \t]*package[ \t]+(?P<path>[^\s#;]+)", re.MULTILINE)
_IMPORT: Final = re.compile(
    r"^[ \t]*import[ \t]+(?P<path>[^\s#;]+)(?:[ \t]+as[ \t]+(?P<alias>\w+))?[ \t]*(?:#.*)?$", re.MULTILINE
)
_ENGINE_PLACE: Final = re.compile(rf"{re.escape(SOURCE_NAME)}:(?P<line>\d+)")
_EMPTY_DATA: Final = b"{}"


class _Part(Struct, frozen=True):
    """Lines of the merged text from one file: starting at ``first``, ``shift`` lines further down."""

    first: int
    shift: int
    file: str


class MergedPolicy(Struct, frozen=True):
    """A policy with its tests, in one text; ``parts`` map each line to its file."""

    text: str
    parts: tuple[_Part, ...]

    def in_files(self, message: str) -> str:
        """An engine error during evaluation, with the original files and lines."""
        return _ENGINE_PLACE.sub(lambda match: self._place(int(match["line"])), message)

    def _place(self, line: int) -> str:
        part = [one for one in self.parts if one.first <= line][-1]
        return f"{part.file}:{line - part.shift}"

    def told(self, error: PolicyRefusedError) -> str:
        """The error text with the original file and line."""
        line = (error.details or {}).get("line")
        if not isinstance(line, int):
            return error.message
        column = (error.details or {}).get("column")
        reason = str((error.details or {}).get("reason", error.message))
        return f"{self._place(line)}:{column}: {reason}"


def merge(policy_file: str, policy_text: str, tests: Sequence[TestModule]) -> MergedPolicy:
    """Raises ValidationError if a test module has another package."""
    found = _PACKAGE.search(policy_text)
    if found is None or not tests:
        return MergedPolicy(policy_text, (_Part(1, 0, policy_file),))
    package = found["path"]
    written = {match[0].strip() for match in _IMPORT.finditer(policy_text)}
    imports: list[str] = []
    bodies: list[str] = []
    for test in tests:
        body, wanted = _read(test, package)
        bodies.append(body)
        imports += [one for one in wanted if one not in written and one not in imports]
    head_lines = policy_text[: found.end()].count("\n") + 1
    lines = policy_text.split("\n")
    merged = [*lines[:head_lines], *imports, *lines[head_lines:]]
    parts = [_Part(1, 0, policy_file), _Part(head_lines + 1, len(imports), policy_file)]
    for test, body in zip(tests, bodies, strict=True):
        parts.append(_Part(len(merged) + 1, len(merged), test.file))
        merged += body.split("\n")
    return MergedPolicy("\n".join(merged), tuple(parts))


def _read(test: TestModule, package: str) -> tuple[str, list[str]]:
    """The module without its package and imports, each of its lines where it was, and the imports."""
    found = _PACKAGE.search(test.text)
    if found is None or found["path"] not in {package, package + _TEST_PACKAGE_SUFFIX}:
        raise ValidationError(
            f"{test.file}: tests of package {package} must be in that package or in {package}{_TEST_PACKAGE_SUFFIX}"
        )
    text, imports = test.text, []
    for match in _IMPORT.finditer(test.text):
        if match["path"] == f"data.{package}":
            text = _without_prefix(text, match["alias"] or package.rpartition(".")[2], test.file)
        else:
            imports.append(match[0].strip())
    blank = _IMPORT.sub(lambda match: "", text)
    return _PACKAGE.sub("", blank, count=1), imports


def _without_prefix(text: str, alias: str, file: str) -> str:
    """``mine.allow`` as ``allow``, by the engine's own parse of the module, so that strings and comments stay."""
    try:
        tree = json.loads(compile_policy(text, _EMPTY_DATA).engine.ast())
    except PolicyRefusedError as error:
        raise ValidationError(f"{file}: {error.message}") from error
    module = tree[0]["ast"] if isinstance(tree, list) else tree
    source = text.encode()
    spans = {(span["start"], span["end"]) for span in _spans_of(module["rules"], alias)}
    cuts = sorted((start, end) for start, end in spans if source[end : end + 1] == b".")
    kept = [source[: cuts[0][0]] if cuts else source]
    for (_, end), (start, _) in pairwise([*cuts, (len(source), 0)]):
        kept.append(source[end + 1 : start])
    return b"".join(kept).decode()


def _spans_of(rules: JsonObject, alias: str) -> list[dict[str, int]]:
    return [
        node["span"]  # type: ignore[misc]  # the engine's own member
        for _, node in nodes(rules, "Var")
        if node["value"] == alias and isinstance(node["span"], dict)
    ]
