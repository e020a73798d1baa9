"""A policy with an input, kept as two files."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
POLICIES = Path(__file__).parents[2] / "config" / "policies"
SAMPLE_INPUT = (
    '{"tool": "github", "operation": "repos.delete", "params": {"amount": 20000, "name": "a/b", "list": [1, 2, 3]}, '
    '"agent": {"id": "agt_1", "name": "a"}, "http": {"host": "api.github.com", "method": "DELETE", "path": "/a"}}'
)


@dataclass(frozen=True)
class Case:
    """What one evaluation needs."""

    policy: str
    input: str

    @property
    def name(self) -> str:
        """Of its files, the same for the same case."""
        return hashlib.sha256(f"{self.policy}\0{self.input}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read(folder: Path) -> Iterator[Case]:
    """The cases in a folder; one without an input of its own gets the sample."""
    for path in sorted(folder.rglob("*.rego")):
        beside = path.with_suffix(".json")
        document = beside.read_text() if beside.exists() else SAMPLE_INPUT
        yield Case(path.read_text(), document)


def write(folder: Path, case: Case) -> Path:
    """Keeps a case."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.name}.rego"
    path.write_text(case.policy, errors="surrogateescape")
    path.with_suffix(".json").write_text(case.input, errors="surrogateescape")
    return path
