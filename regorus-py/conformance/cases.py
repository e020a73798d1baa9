"""OPA's cases, read where the Go toolchain keeps them.

They are a part of OPA's Go module (Apache-2.0) and are not copied: ``go mod download`` fetches the version that
is named here, checked against Go's checksum database.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

MODULE = "github.com/open-policy-agent/opa"
VERSION = "v1.22.2"
FOLDER = "v1/test/cases/testdata/v1"
DOWNLOAD_TIMEOUT_SECONDS = 300
BOOLEAN = "tag:yaml.org,2002:bool"


class Loader(yaml.CSafeLoader):
    """YAML as Go reads it: no dates, numbers with an exponent but no dot, and no words for booleans but two."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in {BOOLEAN, "tag:yaml.org,2002:timestamp"}]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(BOOLEAN, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


@dataclass(frozen=True)
class Case:
    """One case; the fields that OPA's file gives, and where it came from."""

    id: str
    query: str
    modules: tuple[str, ...]
    data: bytes | None
    input: bytes | None
    input_term: str | None
    strict: bool
    sort_bindings: bool
    want_result: list[dict[str, object]] | None
    want_error: bool
    want_error_text: str


def go_is_present() -> bool:
    """Whether the cases can be had here."""
    return shutil.which("go") is not None


def fetch() -> Path:
    """The folder of the cases, after a download where that is needed."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_TIMEOUT_SECONDS, cwd="/")
    return Path(json.loads(done.stdout)["Dir"]) / FOLDER


def load(folder: Path) -> Iterator[Case]:
    """All cases, in the order of their files; a second case of the same name gets a number."""
    seen: dict[str, int] = {}
    for path in sorted(folder.rglob("*.y*ml")):
        document = yaml.load(path.read_text(), Loader)  # noqa: S506 - a safe loader
        for raw in document["cases"]:
            name = f"{path.parent.name}/{raw['note']}" if "/" not in raw["note"] else raw["note"]
            seen[name] = seen.get(name, 0) + 1
            yield parse(name if seen[name] == 1 else f"{name} ({seen[name]})", raw)


def parse(name: str, raw: dict[str, object]) -> Case:
    """One entry of a file."""
    return Case(
        id=name,
        query=str(raw["query"]),
        modules=tuple(raw.get("modules") or ()),  # type: ignore[arg-type]
        data=json.dumps(raw["data"]).encode() if raw.get("data") is not None else None,
        input=json.dumps(raw["input"]).encode() if "input" in raw else None,
        input_term=raw.get("input_term"),  # type: ignore[arg-type]
        strict=bool(raw.get("strict_error")),
        sort_bindings=bool(raw.get("sort_bindings")),
        want_result=raw.get("want_result"),  # type: ignore[arg-type]
        want_error="want_error" in raw or "want_error_code" in raw,
        want_error_text=str(raw.get("want_error") or ""),
    )
