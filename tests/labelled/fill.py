"""Labelled texts: a line of JSON with placeholders, ``{{kind:argument}}``, becomes a text and its labels.

The values are made, not written down: they are valid by checksum, nobody's, and open nothing. Which placeholder
is a label says its table (``persons.LABELLED``, ``credentials.LABELLED``); all others are what must not be found.
"""

import base64
import gzip
import json
import random
import re
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.labelled import credentials, persons

_PLACEHOLDER = re.compile(r"\{\{([a-z0-9_]+)((?::[^}:]+)*)\}\}")
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Label:
    """``value`` as it stands in the text before any encoding."""

    kind: str
    value: str


@dataclass(frozen=True)
class LabelledText:
    name: str
    text: str
    labels: tuple[Label, ...]


def _hex(rng: random.Random, length: str) -> str:
    return "".join(rng.choices("0123456789abcdef", k=int(length)))


_NOISE: dict[str, Callable[..., str]] = {
    **persons.PLAIN,
    "digits": lambda rng, length: str(rng.randint(1, 9)) + persons.digits(rng, int(length) - 1),
    "hex": _hex,
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "integrity": lambda rng: "sha512-" + base64.b64encode(rng.randbytes(64)).decode(),
    "version": lambda rng: f"{rng.randint(0, 20)}.{rng.randint(0, 30)}.{rng.randint(0, 90)}",
    "version4": lambda rng: f"{rng.randint(1, 20)}.{rng.randint(0, 30)}.{rng.randint(0, 90)}.{rng.randint(0, 200)}",
    "timestamp_ms": lambda rng: str(rng.randint(1_600_000_000_000, 1_790_000_000_000)),
    "letters": lambda rng, length: credentials.take(rng, credentials.BASE62[10:36], int(length)),
    "word": lambda rng: rng.choice(("alpha", "report", "invoice", "gateway", "orders", "frontend", "metrics")),
}

ENCODINGS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: quote(text, safe=""),
    "gzip": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "json": lambda text: json.dumps(text)[1:-1],
    "unicode_escape": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "zero_width": "\u200b".join,
    "full_width": lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
}


def read(name: str, *, copies: int = 1) -> Iterator[LabelledText]:
    """The texts of ``NAME.jsonl``, each ``copies`` times with other values."""
    for number, line in enumerate((_FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines(), 1):
        record = json.loads(line)
        for copy in range(copies):
            rng = random.Random(zlib.crc32(f"{name}:{number}:{copy}".encode()))  # noqa: S311 - repeatable, not secret
            yield _fill(f"{name}:{number}:{copy}", record, rng)


def filled_text(text: str, rng: random.Random, labels: list[Label] | None = None) -> str:
    """Adds to ``labels`` what has to be found."""
    found = [] if labels is None else labels

    def value(match: re.Match[str]) -> str:
        kind, arguments = match[1], [one for one in match[2].split(":") if one]
        for table in (persons.LABELLED, credentials.LABELLED):
            if kind in table:
                made = table[kind](rng, *arguments)
                found.append(Label("ip_address" if kind == "ip_address6" else kind, made))
                return made
        return _NOISE[kind](rng, *arguments)

    return _PLACEHOLDER.sub(value, text)


def _fill(name: str, record: dict[str, object], rng: random.Random) -> LabelledText:
    labels: list[Label] = []
    text = filled_text(str(record["text"]), rng, labels)
    for encoding in str(record.get("encode", "")).split():
        text = ENCODINGS[encoding](text)
    return LabelledText(name, str(record.get("before", "")) + text + str(record.get("after", "")), tuple(labels))
