"""What an operation does, in its catalogue's own words: for people who decide it."""

from collections.abc import Mapping

from headgate.tools.match import CatalogueIndex


def operation_descriptions(catalogue: CatalogueIndex) -> Mapping[tuple[str, str], str]:
    """By tool and operation, those of the operator's own catalogues among them."""
    return {
        (tool, operation): entry.description
        for tool, entries in catalogue.tools.items()
        for operation, entry in entries.items()
    }
