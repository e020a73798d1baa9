"""The operations of the catalogues as a list, read no further than it shows them.

What else an entry says is not checked: it takes as long again, most of it for the library that parses the documents of
GraphQL. ``load`` reads everything.
"""

from pathlib import Path

from msgspec import Struct

from headgate.configuration.yaml_document import Section, read_document
from headgate.protocols.draft import Effect
from headgate.tools.catalogue_files import catalogue_paths
from headgate.tools.load_operation import (
    read_effect,
    read_methods,
    read_name,
    read_operation,
    read_protocol,
    read_sent_method,
)
from headgate.tools.model import Protocol


class ListedOperation(Struct, frozen=True):
    """``method``: of the call that Headgate makes itself."""

    tool: str
    operation: str
    effect: Effect
    method: str
    description: str


def list_operations(own: Path | None = None) -> list[ListedOperation]:
    """Those of ``CatalogueIndex.tools``, in its order. ``own``: the instance's folder. Raises ValidationError."""
    tools: dict[str, dict[str, ListedOperation]] = {}
    for path in catalogue_paths(own):
        document = read_document(path)
        tool = read_name(document, "tool")
        for entry in document.sections("entries"):
            protocol = read_protocol(entry)
            if protocol is not Protocol.MCP:
                listed = _listed(entry, tool, protocol)
                tools.setdefault(tool, {}).setdefault(listed.operation, listed)
    return [listed for operations in tools.values() for listed in operations.values()]


def _listed(entry: Section, tool: str, protocol: Protocol) -> ListedOperation:
    effect = read_effect(entry)
    method = read_sent_method(entry.section("send"), read_methods(entry, protocol), protocol, effect)
    return ListedOperation(tool, read_operation(entry), effect, method, entry.text("description"))
