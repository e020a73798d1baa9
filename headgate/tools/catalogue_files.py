"""The files of the tool catalogues: those that come with Headgate, and an instance's own."""

from pathlib import Path
from typing import Final

from headgate.configuration.resources import resource_path

DEFINITIONS_SUFFIX: Final = ".binpb"
"""Of the file beside a catalogue that defines its messages."""


def catalogue_paths(own: Path | None = None) -> list[Path]:
    """In the order in which they are read. A file of ``own`` takes the place of the one that comes with Headgate under
    the same name."""
    paths = {path.name: path for path in sorted(resource_path("catalogues").glob("*.yaml"))}
    if own is not None:
        paths |= {path.name: path for path in sorted(own.glob("*.yaml"))}
    return list(paths.values())
