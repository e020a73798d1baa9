"""A tool catalogue: which calls of an API are which operations. Frozen types; ``load`` makes them from YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headgate.kernel.canonical_json import JsonValue
from headgate.protocols.body import BodyReading
from headgate.protocols.draft import Effect


class SegmentKind(StrEnum):
    LITERAL = "literal"
    INTEGER = "integer"
    """``{number:int}``: a canonical decimal; ``007`` is another resource to some servers, and does not match."""
    TEXT = "text"
    """``{name}``: any one segment."""
    REST = "rest"
    """``{path...}``, last only: one or more segments."""


@dataclass(frozen=True, slots=True)
class Segment:
    """``text``: the literal, or the variable's name."""

    kind: SegmentKind
    text: str


class Protocol(StrEnum):
    REST = "rest"
    MCP = "mcp"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What query and body must hold, member by member, for an entry to apply."""

    query: Mapping[str, str]
    body: Mapping[str, JsonValue]

    def __bool__(self) -> bool:
        return bool(self.query) or bool(self.body)


@dataclass(frozen=True, slots=True)
class ParamMapping:
    """How the members of a call become params where they keep not simply their names."""

    rename_query: Mapping[str, str]
    rename_body: Mapping[str, str]
    headers: Mapping[str, str]
    repeated: frozenset[str]
    fold_case: frozenset[str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation. ``expected_status``: None means below 400. ``where``: file and position, for errors."""

    where: str
    tool: str
    operation: str
    description: str
    hosts: Sequence[str]
    methods: Sequence[str]
    path: Sequence[Segment]
    conditions: Conditions
    mapping: ParamMapping
    reading: BodyReading
    effect: Effect
    expected_status: frozenset[int] | None
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All that is known of one tool. ``unlisted_reads``: whether a GET that no entry lists only reads."""

    where: str
    tool: str
    description: str
    hosts: Sequence[str]
    reading: BodyReading
    unlisted_reads: bool
    entries: Sequence[Entry]
