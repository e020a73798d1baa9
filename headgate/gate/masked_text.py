"""Masks findings in text or JSON: characters are replaced by the kind that was found.

JSON (RFC 8259) is one document, or one on each line. All other bytes stay the same.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.policies.model import FoundText

_LOOKS_LIKE_JSON: Final = re.compile(r"\s*[\[{]")
"""A document that is not strict, where it is not lines of JSON: in place of a number a bare text would break it."""
_STRUCTURED: Final = ("{", "[", '"')
_KIND: Final = re.compile(r"[a-z0-9_]{1,64}")
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")|([^\s\[\]{},:"]+)|([\[\]{},:])')
_CHARACTER: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.S
)


class Stretch(NamedTuple):
    start: int
    end: int
    kind: str


type Path = tuple[str | int, ...]
type Stretches = Mapping[Path, Sequence[Stretch]]
"""In order, by the path of the text that they are in."""


def stretches_of(found: Iterable[FoundText]) -> dict[Path, list[Stretch]]:
    """Without overlaps: what overlaps is one stretch, of the first's kind."""
    merged: dict[Path, list[Stretch]] = {}
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        stretches = merged.setdefault(one.path, [])
        kind = one.kind if _KIND.fullmatch(one.kind) is not None else "finding"
        if stretches and one.start < stretches[-1].end:
            last = stretches[-1]
            stretches[-1] = Stretch(last.start, max(last.end, one.end), last.kind)
        else:
            stretches.append(Stretch(one.start, one.end, kind))
    return merged


def mask(kind: str) -> str:
    return f"[masked: {kind}]"


def replaced_text(text: str, by_path: Stretches, *, is_labelled: bool = True) -> str | None:
    """None: something cannot be replaced. ``is_labelled``: as JSON, so that a number that stands alone is one."""
    if is_json(text):
        if is_labelled or text.lstrip().startswith(_STRUCTURED):
            return _in_json(text, by_path)
        return text.replace(text.strip(), mask(by_path[()][0].kind)) if set(by_path) == {()} else None
    if set(by_path) != {()}:
        return None
    return (_in_lines if _LOOKS_LIKE_JSON.match(text) else replaced)(text, by_path[()])


def replaced(text: str, stretches: Iterable[Stretch], write: Callable[[str], str] = mask) -> str:
    """``write``: what is written in place of one of that kind."""
    pieces: list[str] = []
    done = 0
    for one in stretches:
        pieces += (text[done : one.start], write(one.kind))
        done = one.end
    return "".join((*pieces, text[done:]))


def as_written(written: str, stretches: Iterable[Stretch], character: re.Pattern[str]) -> list[Stretch]:
    """Where the stretches of a text stand in ``written``, in which each of its characters matches ``character``."""
    at = [one.start() for one in character.finditer(written)] + [len(written)]
    most = len(at) - 1
    return [Stretch(at[min(one.start, most)], at[min(one.end, most)], one.kind) for one in stretches]


def is_json(text: str) -> bool:
    try:
        parse_strict(text.encode())
    except ValidationError:
        return False
    return True


def _in_json(text: str, by_path: Stretches) -> str | None:
    leaves = dict(_leaves(text))
    if not set(by_path) <= set(leaves):
        return None
    pieces: list[str] = []
    done = 0
    for (start, end), stretches in sorted((leaves[path], each) for path, each in by_path.items()):
        pieces += (text[done:start], _replaced_leaf(text[start:end], stretches))
        done = end
    made = "".join((*pieces, text[done:]))
    return made if is_json(made) else None


def _replaced_leaf(literal: str, stretches: Sequence[Stretch]) -> str:
    if not literal.startswith('"'):  # a number: a text is in its place
        return f'"{mask(stretches[0].kind)}"'
    inside = literal[1:-1]
    return f'"{replaced(inside, as_written(inside, stretches, _CHARACTER) if "\\" in inside else stretches)}"'


def _in_lines(text: str, stretches: Sequence[Stretch]) -> str | None:
    """Of a document on each line. Detectors read them as one text: a place is one in the lines as they are written."""
    made: list[str] = []
    left = deque(stretches)
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        inside: list[Stretch] = []
        while left and left[0].end <= end:
            one = left.popleft()
            inside.append(Stretch(one.start - start, one.end - start, one.kind))
        masked = _in_line(line, inside)
        if masked is None:
            return None
        made.append(masked)
        start = end + 1
    return None if left else "\n".join(made)


def _in_line(line: str, stretches: Sequence[Stretch]) -> str | None:
    if not stretches:
        return line if not line.strip() or is_json(line) else None
    by_path = _by_value(line, stretches) if is_json(line) else None
    return None if by_path is None else _in_json(line, by_path)


def _by_value(line: str, stretches: Sequence[Stretch]) -> Stretches | None:
    """The stretches of a JSON document as those of its values. None: one reaches beyond a value."""
    leaves = sorted((place, path) for path, place in _leaves(line))
    by_leaf: defaultdict[int, list[Stretch]] = defaultdict(list)
    for one in stretches:
        by_leaf[bisect_right(leaves, one.start, key=lambda leaf: leaf[0][0])].append(one)
    by_path: dict[Path, list[Stretch]] = {}
    for count, each in by_leaf.items():
        (start, end), path = leaves[count - 1] if count else ((0, 0), ())
        if each[0].start < start or each[-1].end > end:
            return None
        at = [start + 1 + one.start() for one in _CHARACTER.finditer(line[start + 1 : end - 1])]
        by_path[path] = [
            Stretch(max(bisect_right(at, one.start) - 1, 0), bisect_left(at, one.end), one.kind) for one in each
        ]
    return by_path


def _leaves(text: str) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Where each value stands that is no object and no list, of a text that is JSON."""
    path: list[str | int] = []
    is_name = False
    for token in _TOKEN.finditer(text):
        sign = token[3]
        if sign is None:
            if is_name:
                path[-1] = json.loads(token[0])
            else:
                yield tuple(path), token.span()
        elif sign in "{[":
            path.append("" if sign == "{" else 0)
            is_name = sign == "{"
        elif sign in "}]":
            path.pop()
            is_name = False
        elif sign == ":":
            is_name = False
        else:
            last = path[-1]
            is_name = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
