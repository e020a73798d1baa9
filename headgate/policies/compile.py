"""Compiles policies once and keeps them while any policy set uses them.

The same text with the same data is the same compiled policy, in every organization and across reloads. A change of one
policy therefore compiles one policy (0.5 ms each).
"""

import re
from typing import Final
from weakref import WeakValueDictionary

import regorus

from headgate.kernel.errors import ValidationError
from headgate.policies.conditions import UNKNOWN_CONDITIONS, Conditions, derive_conditions
from headgate.policies.data import data_roots
from headgate.policies.params_use import ParamsUse, params_use
from headgate.policies.parse_syntax import parse_module
from headgate.policies.tree import UnknownSyntaxError, character_column

TIME_LIMIT_MILLISECONDS: Final = 50
MEMORY_LIMIT_BYTES: Final = 64 << 20  # Above the baseline (semantics.md, "Combining and voting").
SOURCE_NAME: Final = "policy.rego"

# Data used as a whole or under a computed name, and escapes that could spell such a name.
_REACHES_ANYTHING: Final = re.compile(r"\\u|\bdata\b(?!\.[A-Za-z_])")

type Libraries = tuple[tuple[str, str], ...]
"""The shared modules that a policy may import: name of the file and text, in the order of their names."""


class PolicyData:
    """The data documents in the engine's form."""

    __slots__ = ("__weakref__", "document", "roots")

    def __init__(self, text: bytes) -> None:
        self.document = regorus.Data(text)
        self.roots = data_roots(text)


class CompiledPolicy:
    """One policy's own engine, and the conditions under which the policy can decide."""

    __slots__ = ("__weakref__", "_params_use", "_text", "conditions", "data", "engine")

    def __init__(self, text: str, engine: regorus.Policy, conditions: Conditions, data: PolicyData) -> None:
        self.engine = engine
        self.conditions = conditions
        self.data = data
        self._text = text
        self._params_use: ParamsUse | None = None

    @property
    def params_use(self) -> ParamsUse:
        """Which of its answers are the same for all calls of one agent, kind and address."""
        if self._params_use is None:
            self._params_use = params_use(self.engine.ast(), self._text)
        return self._params_use


_compiled: WeakValueDictionary[tuple[str, bytes, Libraries], CompiledPolicy] = WeakValueDictionary()
_data: WeakValueDictionary[bytes, PolicyData] = WeakValueDictionary()


class PolicyRefusedError(ValidationError):
    """The policy is invalid; ``details`` hold file, line, column and the source line, if known."""


def compile_policy(text: str, data: bytes, libraries: Libraries = ()) -> CompiledPolicy:
    """Raises PolicyRefusedError."""
    libraries = imported(text, libraries)
    compiled = _compiled.get((text, data, libraries))
    if compiled is None:
        documents = _data.get(data)
        if documents is None:
            documents = _data[data] = PolicyData(data)
        engine = _engine(text, documents, libraries)
        conditions = _conditions(text, engine, documents.roots)
        compiled = _compiled[text, data, libraries] = CompiledPolicy(text, engine, conditions, documents)
    return compiled


def imported(text: str, libraries: Libraries) -> Libraries:
    """All shared modules for a policy that could read one, else none. A policy without ``lib`` is then not
    recompiled when a module changes."""
    return libraries if "lib" in text or _REACHES_ANYTHING.search(text) is not None else ()


def _engine(text: str, data: PolicyData, libraries: Libraries) -> regorus.Policy:
    try:
        return regorus.Policy(
            text,
            path=SOURCE_NAME,
            data=data.document,
            libraries=libraries,
            time_limit_milliseconds=TIME_LIMIT_MILLISECONDS,
            memory_limit_bytes=MEMORY_LIMIT_BYTES,
        )
    except regorus.RegoError as error:
        raise refused(error) from error


def refused(error: regorus.RegoError) -> PolicyRefusedError:
    """The engine's error as an error of ours, with place and source line."""
    column = error.column
    if column is not None and error.snippet is not None:
        column = character_column(error.snippet, column)
    place = f"{error.path}:{error.line}:{column}: " if error.line is not None else ""
    return PolicyRefusedError(
        f"{place}{error.message}",
        details={
            "field": "rego_policy",
            "reason": error.message,
            "file": error.path,
            "line": error.line,
            "column": column,
            "source": error.snippet,
        },
    )


def _conditions(text: str, engine: regorus.Policy, roots: frozenset[str]) -> Conditions:
    try:
        return derive_conditions(parse_module(engine.ast(), text), roots)
    except UnknownSyntaxError as error:
        # Imported here, because it would double the start time of a child that tries a policy.
        import structlog  # noqa: PLC0415

        # Slower, but correct: without conditions the policy is evaluated for every call.
        structlog.get_logger(__name__).warning("policy_conditions_unknown", error=str(error))
        return UNKNOWN_CONDITIONS
