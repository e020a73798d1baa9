"""Ready-made rule policies (``config/policies/examples``), each with the cases that state what it decides."""

from functools import cache

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_text


class ExamplePolicy(Struct, frozen=True):
    """``example_id`` is the file's name without the extension; ``summary`` the comment at its beginning; ``cases``
    YAML, as ``headgate policy test`` reads it."""

    example_id: str
    summary: str
    rego_policy: str
    cases: str

    @property
    def name(self) -> str:
        return self.example_id.replace("_", " ").capitalize()


@cache
def examples() -> tuple[ExamplePolicy, ...]:
    """Raises ValidationError for a file that cannot be read."""
    found = sorted(resource_path("policies", "examples").glob("*.cases.yaml"))
    return tuple(_example(path.name.removesuffix(".cases.yaml")) for path in found)


def _example(example_id: str) -> ExamplePolicy:
    source = read_text(resource_path("policies", "examples", f"{example_id}.rego"))
    cases = read_text(resource_path("policies", "examples", f"{example_id}.cases.yaml"))
    return ExamplePolicy(example_id, _summary(source), source, cases)


def _summary(source: str) -> str:
    comment = source.partition("\npackage ")[0]
    return " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
