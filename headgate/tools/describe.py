"""What a catalogue says of an operation for people who decide it."""

from collections.abc import Mapping, Sequence

from headgate.tools.match import CatalogueIndex


def operation_descriptions(catalogue: CatalogueIndex) -> Mapping[tuple[str, str], str]:
    """By tool and operation, those of the operator's own catalogues among them."""
    return {
        (tool, operation): entry.description
        for tool, entries in catalogue.tools.items()
        for operation, entry in entries.items()
    }


def first_params(catalogue: CatalogueIndex, tool: str, operation: str) -> Sequence[str]:
    """The params that matter most, by name. Empty: the catalogue names none."""
    entry = catalogue.tools.get(tool, {}).get(operation)
    return () if entry is None else entry.facts
