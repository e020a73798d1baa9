"""``licenses.yaml``: licenses that no metadata name, and what is carried inside others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

LICENSES: Final = Path(__file__).parent / "licenses.yaml"


@dataclass(frozen=True, slots=True)
class Carried:
    name: str
    package: str
    license: str


@dataclass(frozen=True, slots=True)
class Data:
    path: str
    origin: str
    license: str


@dataclass(frozen=True, slots=True)
class Licenses:
    file: str
    python: Mapping[str, str]
    carried: tuple[Carried, ...]
    data: tuple[Data, ...]
    rust_texts: Mapping[str, str]


def read_licenses(file: Path = LICENSES) -> Licenses:
    document = yaml.safe_load(file.read_text("utf-8"))
    return Licenses(
        file.name,
        document["python"],
        tuple(Carried(**one) for one in document["carried"]),
        tuple(Data(**one) for one in document["data"]),
        document["rust_texts"],
    )
