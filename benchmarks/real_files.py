"""Real files of this machine, for detectors that read whole files: what packages bring along, read as an answer.

The choice is the same for the same files: a file's hash decides, balanced by kind of file. All files of a package are
of one part, by the hash of its name: ``mined`` (texts for training), ``bar`` (where a threshold is chosen) or
``held_out`` (evaluated only by totals). Packages of Node.js are held out as a whole. Texts that stand in several chosen
files count once.
"""

import gzip
import json
import os
import re
import stat
import sysconfig
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from regorus import as_text

from headgate.detectors.document import Attachment
from headgate.kernel.canonical_json import JsonValue

type FilePart = Literal["mined", "bar", "held_out"]

READ_BYTES_MAX: Final = 256 * 1024
PARTS: Final[tuple[FilePart, ...]] = get_args(FilePart.__value__)
DEFAULT_ROOTS: Final = (
    Path(sysconfig.get_path("purelib")),
    Path("/usr/share"),
    Path("/usr/include"),
    Path(__file__).parents[1] / "web" / "node_modules",
    Path(__file__).parents[1] / "tests" / "agent_frameworks" / "node_modules",
)
_SIZE_MIN: Final = 1000
_CUT_CHARACTER_BYTES: Final = 4
_MINED_UP_TO: Final = 45
_BAR_UP_TO: Final = 65
"""Shares of packages in percent, one after the other."""
_HELD_OUT: Final = frozenset(("uvicorn", "yaml", "pyyaml", "cryptography", "pydantic", "starlette"))
"""As in ``tests.labelled.clean``."""
_KINDS: Final = (
    ("license", re.compile(r"(licen[cs]e|copying|copyright|notice|authors)")),
    ("changelog", re.compile(r"(changelog|changes|history|news|release)")),
    ("readme", re.compile(r"readme")),
    ("manual", re.compile(r".*\.([1-8][a-z]*)$")),
    ("translation", re.compile(r".*\.(po|mo|pot|ftl)$")),
    ("markup", re.compile(r".*\.(html?|xhtml|xml|svg|xsd)$")),
    ("json", re.compile(r".*\.(json|jsonl|map)$")),
    ("prose", re.compile(r"(metadata$|.*\.(md|mdx|rst|txt|pod|tex|texi|adoc)$)")),
    (
        "source",
        re.compile(
            r".*\.(pyi?|pyx|[cm]?js|[cm]?ts|[jt]sx|h|hh|hpp|hxx|c|cc|cpp|p[lm]|t|rb|sh|css|lua|sql|vim|el|java|go|rs|awk|m4)$"
        ),
    ),
)
OTHER: Final = "other"
KINDS: Final = (*(name for name, _ in _KINDS), OTHER)


class RealFile(NamedTuple):
    path: Path
    kind: str
    package: str
    part: FilePart


@dataclass(frozen=True, slots=True)
class ReadFile:
    """``body`` as the body of an answer; of what is no text, an attachment instead."""

    size: int
    body: JsonValue
    attachments: tuple[Attachment, ...]


def chosen_files(
    part: FilePart, of_kind: int, roots: tuple[Path, ...] = DEFAULT_ROOTS, of_package: int = 8
) -> list[RealFile]:
    """At most ``of_kind`` of each kind, ``of_package`` of them of one package, in the order of their hashes."""
    chosen: list[RealFile] = []
    counts: Counter[str] = Counter()
    of_packages: Counter[tuple[str, str]] = Counter()
    seen: set[int] = set()
    of_part = [(_hash(f"{one.package}/{one.path.name}"), one) for one in _all_files(roots) if one.part == part]
    for _, one in sorted(of_part):
        own = one.package, one.kind
        if counts[one.kind] == of_kind or of_packages[own] == of_package:
            continue
        digest = zlib.crc32(_head(one.path))
        if digest not in seen:
            seen.add(digest)
            counts[one.kind] += 1
            of_packages[own] += 1
            chosen.append(one)
    return chosen


def read_file(path: Path) -> ReadFile:
    """The first 256 KiB, of what gzip holds too. JSON that is whole is parsed."""
    data = _head(path)
    # The end may cut a character.
    text = next((text for cut in range(_CUT_CHARACTER_BYTES) if (text := as_text(data[: len(data) - cut]))), None)
    if text is None:
        return ReadFile(len(data), None, (Attachment(("body",), data),))
    try:
        return ReadFile(len(data), json.loads(text), ())
    except (ValueError, RecursionError):
        return ReadFile(len(data), text, ())


@cache
def part_of(package: str) -> FilePart:
    if package in _HELD_OUT:
        return "held_out"
    share = int(_hash(package), 16) % 100
    return "mined" if share < _MINED_UP_TO else "bar" if share < _BAR_UP_TO else "held_out"


@cache
def kind_of(name: str) -> str:
    bare = name.lower().removesuffix(".gz")
    return next((kind for kind, pattern in _KINDS if pattern.match(bare)), OTHER)


def package_of(inside: Sequence[str]) -> str:
    """Of the parts of a path below its root: the folder that comes as one. Translations of a manual, and of a program,
    come with the original."""
    parts = inside[1:] if inside[0] in ("doc", "perl", "perl5", "python3") and len(inside) > 1 else inside
    name = parts[0]
    if inside[0] in ("man", "locale"):
        name = inside[-1].removesuffix(".gz").split(".")[0]
    return re.sub(r"(-[\d.]+)?\.(dist-info|data|libs)$", "", name).lower().replace("-", "_")


@cache
def _all_files(roots: tuple[Path, ...]) -> tuple[RealFile, ...]:
    return tuple(_walked(roots))


def _walked(roots: Iterable[Path]) -> Iterator[RealFile]:
    for root in roots:
        for folder, _, names in os.walk(root):
            inside = Path(folder).relative_to(root).parts
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 - a path object for each of 100,000 files is slow
                state = os.lstat(path)
                if not stat.S_ISREG(state.st_mode) or state.st_size < _SIZE_MIN:
                    continue
                package = package_of((*inside, name))
                part: FilePart = "held_out" if "node_modules" in root.parts else part_of(package)
                yield RealFile(Path(path), kind_of(name), package, part)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(READ_BYTES_MAX)
    if path.suffix != ".gz":
        return data
    try:
        with gzip.open(path) as unpacked:
            return unpacked.read(READ_BYTES_MAX)
    except (OSError, EOFError, zlib.error):
        return data


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
