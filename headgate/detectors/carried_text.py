"""Text that the address of a call carries in its path or query, encoded or as a table (exfiltration, for example by the
URL of a picture).

A heuristic (MITRE ATT&CK T1048, T1567). Cursors, states and signatures are encoded too; they decode to bytes, to
identifiers or to JSON, and not to words and lines.
"""

import base64
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from headgate.detectors.encodings import from_base64, from_hexadecimal
from headgate.detectors.host_names import has_readable_labels
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.kernel.canonical_json import JsonValue

ENCODED_IN_ADDRESS: Final = "encoded_in_address"
TABLE_IN_ADDRESS: Final = "table_in_address"
CARRIED_TEXT_KINDS: Final = frozenset({ENCODED_IN_ADDRESS, TABLE_IN_ADDRESS})
_ENCODED: Final = 0.8
_TABLE: Final = 0.75
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_CODES: Final = re.compile(r"(?:[0-9]{2,3}[-._]){15,}[0-9]{2,3}")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.){2,}[A-Za-z]{2,24}\.?")
_SEGMENT: Final = re.compile(r"[A-Za-z0-9+_=-]{12,}")
_MARK_BYTES: Final = 12
_TEXT_BYTES_MIN: Final = 24
_DECODED_BYTES_MAX: Final = 4096
_DEPTH_MAX: Final = 2
_INNER_TOKENS_MAX: Final = 4
_SPACES_MIN: Final = 3
_LINES_MIN: Final = 3
_COLUMN_SIGNS: Final = ",;\t|:"
_PRINTABLE_SHARE: Final = 0.97
_GZIP: Final = b"\x1f\x8b"


def finder_of_carried_text(value: JsonValue) -> Callable[[bytes, Budget], Iterator[Match]]:
    """``value``: a call; of anything else nothing is found."""
    http = value.get("http") if isinstance(value, dict) else None
    path = str(http.get("path", "")) if isinstance(http, dict) else ""
    texts = [*path.split("/"), *_joined_segments(path)]
    if isinstance(http, dict):
        texts += _strings(http.get("query"))

    def found(buffer: bytes, budget: Budget) -> Iterator[Match]:
        budget.new_pass(len(buffer))
        for text in texts:
            if not budget.allows_candidate():
                return
            tokens = () if text.startswith("data:") else (*_TOKEN.findall(text), *_CODES.findall(text))
            for token in tokens:
                if _carries(token, budget):
                    yield from _places(buffer, token, ENCODED_IN_ADDRESS, _ENCODED)
            if _HOST.fullmatch(text) and has_readable_labels(text):  # as DNS over HTTPS asks for it
                yield from _places(buffer, text, ENCODED_IN_ADDRESS, _ENCODED)
            if _is_table(text):
                yield from _places(buffer, text, TABLE_IN_ADDRESS, _TABLE)

    return found


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
    elif isinstance(value, dict):
        for member in value.values():
            yield from _strings(member)


def _joined_segments(path: str) -> Iterator[str]:
    """Joins adjacent segments: data longer than one segment is cut."""
    for is_long, segments in groupby(path.split("/"), lambda one: _SEGMENT.fullmatch(one) is not None):
        pieces = list(segments)
        if is_long and len(pieces) > 1:
            yield "".join(pieces)


def _carries(token: str, budget: Budget, depth: int = 0) -> bool:
    """Every decoding is charged: 200 tokens in a token in a token would take seconds."""
    for data in _decoded(token):
        unpacked = _unpacked(data)
        if not (budget.allows_candidate() and budget.has_time() and budget.allows_decoded(len(unpacked))):
            return False
        text = _readable(unpacked)
        if text is None:
            continue
        if _reads_as_text(text):
            return True
        inner = [*dict.fromkeys(_TOKEN.findall(text))][:_INNER_TOKENS_MAX] if depth < _DEPTH_MAX else []
        if any(_carries(one, budget, depth + 1) for one in inner):
            return True
    return False


def _unpacked(data: bytes) -> bytes:
    if data[:2] != _GZIP:
        return data
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, _DECODED_BYTES_MAX)
    except zlib.error:
        return b""


def _decoded(token: str) -> Iterator[bytes]:
    """Hexadecimal, base 32, base 64 (RFC 4648), and codes of characters with a sign between them."""
    if _CODES.fullmatch(token):
        codes = [int(one) for one in re.split(r"[-._]", token)]
        yield bytes(code for code in codes if code < 256)
        return
    bare = token.rstrip("=")
    if (data := from_hexadecimal(bare.encode())) is not None:
        yield data
        return
    if re.fullmatch(r"[A-Z2-7]+|[a-z2-7]+", bare) and len(bare) % 8 in (0, 2, 4, 5, 7):
        yield base64.b32decode(bare.upper() + "=" * (-len(bare) % 8))
    if (data := from_base64(bare[: len(bare) - (len(bare) % 4 == 1)].encode())) is not None:
        yield data


def _readable(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if error.start < _TEXT_BYTES_MIN or error.start < len(data) - 3:
            return None
        text = data[: error.start].decode()
    if len(text) < _TEXT_BYTES_MIN:
        return None
    printable = sum(one.isprintable() or one in "\n\r\t" for one in text)
    return text if printable >= _PRINTABLE_SHARE * len(text) else None


def _reads_as_text(text: str) -> bool:
    """Words or lines; not JSON, as cursors and tokens are."""
    if text[:1] in ("{", "["):
        return False
    return text.count(" ") >= _SPACES_MIN or text.count("\n") >= _LINES_MIN - 1 or text.count(",") > 2 * _SPACES_MIN


def _is_table(text: str) -> bool:
    """Several lines with the same columns: rows of a database, and no query in lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) >= _LINES_MIN and any(
        lines[0].count(sign) > 0 and all(line.count(sign) == lines[0].count(sign) for line in lines)
        for sign in _COLUMN_SIGNS
    )


def _places(buffer: bytes, text: str, kind: str, confidence: float) -> Iterator[Match]:
    """Where it stands in the buffer; of joined segments, where the first one does."""
    whole = text.encode("utf-8", "replace")
    wanted = whole if whole in buffer else whole[:_MARK_BYTES]
    start = buffer.find(wanted)
    if start >= 0:
        yield Match(kind, start, start + len(wanted), confidence)
