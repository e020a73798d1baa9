"""Which entry of which catalogue a call is: by host, then method, then path, then conditions.

One answer, whatever the order of the files: literals go before integers, integers before other segments,
those before the rest of a path; leftmost first. A literal that matches but for upper and lower case is
refused, since servers differ in whether it is the same resource.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.body import Body
from headgate.protocols.graphql_operation import OperationKind
from headgate.tools.conditions import hold, members_of, refuse_misplaced
from headgate.tools.model import Catalogue, Entry, Protocol, SegmentKind

_INTEGER_DIGITS_MAX: Final = 18


class _Node:
    """One segment deep in the templates of a host and method."""

    __slots__ = ("entries", "integer", "literals", "rest", "text")

    def __init__(self) -> None:
        self.literals: dict[str, tuple[str, _Node]] = {}  # by lower case
        self.integer: _Node | None = None
        self.text: _Node | None = None
        self.rest: _Node | None = None
        self.entries: list[Entry] = []  # those with conditions first


class PathMatch:
    """The entries of one path template, and the raw values of its variables in order."""

    __slots__ = ("entries", "values")

    def __init__(self, entries: Sequence[Entry], values: tuple[str, ...]) -> None:
        self.entries = entries
        self.values = values

    def choose(self, query: Mapping[str, JsonValue], body: Body) -> Entry | None:
        """The first entry whose conditions hold; ``query`` holds the lists of values by name.

        Raises AmbiguousRequestError: what a condition names stands where only some servers look.
        """
        several = [entry.conditions for entry in self.entries if entry.conditions]
        if several:
            refuse_misplaced(several, query, body)
        members = members_of(body) if several else {}
        return next(
            (one for one in self.entries if not one.conditions or hold(one.conditions, query, members)),
            None,
        )

    def root(self, kind: OperationKind, field: str) -> Entry | None:
        """The entry for a root field of GraphQL."""
        return next((one for one in self.entries if _root_of(one) == (kind, field)), None)


class HostIndex:
    """The catalogue of one host. ``speaks_graphql``: some of its calls carry a document that has to be parsed."""

    __slots__ = ("_roots", "catalogue", "speaks_graphql")

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.speaks_graphql = any(entry.protocol is Protocol.GRAPHQL for entry in catalogue.entries)
        self._roots: dict[str, _Node] = {}

    def add(self, entry: Entry) -> None:
        """Raises ValidationError where two entries would answer for the same calls."""
        for method in entry.methods:
            node = self._roots.setdefault(method, _Node())
            for segment in entry.path:
                node = _child(node, segment.kind, segment.text, entry)
            for other in node.entries:
                if (other.conditions, _root_of(other)) == (entry.conditions, _root_of(entry)):
                    raise ValidationError(f"{entry.where}: the same calls are listed in {other.where}")
                if (other.reading, other.protocol) != (entry.reading, entry.protocol):
                    raise ValidationError(f"{entry.where}: reads the body otherwise than {other.where}")
            node.entries.append(entry)
            node.entries.sort(key=lambda one: -len(one.conditions.query) - len(one.conditions.body))

    def find(self, method: str, path: str) -> PathMatch | None:
        """``path`` is normalised. HEAD is looked up as GET. Raises AmbiguousRequestError."""
        root = self._roots.get("GET" if method == "HEAD" else method)
        if root is None:
            return None
        return _search(root, path[1:].split("/") if path != "/" else [], 0, ())


class CatalogueIndex:
    """All catalogues by host."""

    def __init__(self, catalogues: Sequence[Catalogue]) -> None:
        """Raises ValidationError where two catalogues claim one host."""
        self._exact: dict[str, HostIndex] = {}
        self._below: dict[str, HostIndex] = {}
        self._tools: dict[str, dict[str, Entry]] = {}
        self.documents = {entry.sha256: entry.document for one in catalogues for entry in one.entries}
        """What each entry says, by the digest that is recorded with its actions."""
        for catalogue in catalogues:
            for host in dict.fromkeys([*catalogue.hosts, *(one for entry in catalogue.entries for one in entry.hosts)]):
                self._claim(host, HostIndex(catalogue))
        for catalogue in catalogues:
            for entry in catalogue.entries:
                if entry.protocol is not Protocol.MCP:
                    self._tools.setdefault(catalogue.tool, {}).setdefault(entry.operation, entry)
                for host in entry.hosts:
                    self._table(host)[host.removeprefix("*.")].add(entry)

    @property
    def tools(self) -> Mapping[str, Mapping[str, Entry]]:
        """By tool and operation: the entries that Headgate can call itself."""
        return self._tools

    def _table(self, host: str) -> dict[str, HostIndex]:
        return self._below if host.startswith("*.") else self._exact

    def _claim(self, host: str, index: HostIndex) -> None:
        present = self._table(host).setdefault(host.removeprefix("*."), index)
        if present is not index:
            raise ValidationError(f"{index.catalogue.where}: {host} is covered by {present.catalogue.where} already")

    def for_host(self, host: str) -> HostIndex | None:
        """``host`` is normalised. An exact name goes before the nearest ``*.`` above it."""
        found = self._exact.get(host)
        if found is not None or not self._below:
            return found
        parent = host
        while True:
            _, dot, parent = parent.partition(".")
            if not dot:
                return None
            if (found := self._below.get(parent)) is not None:
                return found


def _root_of(entry: Entry) -> tuple[OperationKind, str] | None:
    return None if entry.graphql is None else (entry.graphql.kind, entry.graphql.field)


def _child(node: _Node, kind: SegmentKind, text: str, entry: Entry) -> _Node:
    match kind:
        case SegmentKind.LITERAL:
            written, child = node.literals.setdefault(text.lower(), (text, _Node()))
            if written != text:
                raise ValidationError(f"{entry.where}: {text} and {written} differ only in upper and lower case")
            return child
        case SegmentKind.INTEGER:
            node.integer = node.integer or _Node()
            return node.integer
        case SegmentKind.TEXT:
            node.text = node.text or _Node()
            return node.text
        case SegmentKind.REST:
            node.rest = node.rest or _Node()
            return node.rest


def _search(node: _Node, segments: Sequence[str], position: int, values: tuple[str, ...]) -> PathMatch | None:
    """Depth first; the depth is the longest template's."""
    if position == len(segments):
        return PathMatch(node.entries, values) if node.entries else None
    segment = segments[position]
    if node.literals and (literal := node.literals.get(segment.lower())) is not None:
        found = _search(literal[1], segments, position + 1, values)
        if found is not None:
            if literal[0] != segment:
                raise AmbiguousRequestError(
                    f"the path segment {segment[:80]} is not {literal[0]} to every server: write it so",
                    details={"field": "path"},
                )
            return found
    for child in (node.integer if _is_integer(segment) else None, node.text):
        if child is not None:
            found = _search(child, segments, position + 1, (*values, segment))
            if found is not None:
                return found
    if node.rest is not None:
        return PathMatch(node.rest.entries, (*values, "/".join(segments[position:])))
    return None


def _is_integer(segment: str) -> bool:
    return (
        segment.isascii()
        and segment.isdigit()
        and len(segment) <= _INTEGER_DIGITS_MAX
        and (segment == "0" or segment[0] != "0")
    )
