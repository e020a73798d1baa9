"""Text that the address of a call carries in its path or query: encoded, disguised, as a table, as an environment, or
as sentences out of place (exfiltration, for example by the URL of a picture). So may an address that the body hands on
to a tool or a page. Beside it cookies and lists of bytes, which other detectors do not read.

A heuristic (MITRE ATT&CK T1048, T1567). Cursors, states and signatures are encoded too; they decode to bytes, to
identifiers or to JSON, and not to words and lines.
"""

import base64
import html
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final
from urllib.parse import unquote

import re2
from regorus import base85_texts, from_base64, from_hexadecimal

from headgate.detectors.called_addresses import CalledAddress, called_addresses
from headgate.detectors.carried_persons import names_persons
from headgate.detectors.cookies import CREDENTIAL_IN_COOKIE, cookies_with_credentials
from headgate.detectors.host_names import carries_data
from headgate.detectors.key_bytes import KEY_BYTES, names_of_keys
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.prose import (
    is_disguised,
    is_drawn,
    is_environment,
    is_marked_without_spaces,
    is_out_of_place,
    is_sentence,
    is_told_in_slug,
)
from headgate.detectors.records import is_assignments, is_identity_of_machine, is_source, is_table
from headgate.detectors.spread_text import (
    characters_in_pieces,
    joined_pieces,
    joined_uuids,
    sentences_in_series,
    words_in_pieces,
)
from headgate.detectors.text_in_addresses import has_text
from headgate.kernel.canonical_json import JsonObject, JsonValue

ENCODED_IN_ADDRESS: Final = "encoded_in_address"
TABLE_IN_ADDRESS: Final = "table_in_address"
DISGUISED_IN_ADDRESS: Final = "disguised_in_address"
PROSE_IN_ADDRESS: Final = "prose_in_address"
ENVIRONMENT_IN_ADDRESS: Final = "environment_in_address"
PERSON_IN_ADDRESS: Final = "person_in_address"
SOURCE_IN_ADDRESS: Final = "source_in_address"
CARRIED_TEXT_KINDS: Final = frozenset(
    {ENCODED_IN_ADDRESS, TABLE_IN_ADDRESS, DISGUISED_IN_ADDRESS, PROSE_IN_ADDRESS, ENVIRONMENT_IN_ADDRESS}
    | {PERSON_IN_ADDRESS, SOURCE_IN_ADDRESS, CREDENTIAL_IN_COOKIE, KEY_BYTES}
)
_ENCODED: Final = 0.8
_TABLE: Final = 0.75
_DISGUISED: Final = 0.8
_PROSE: Final = 0.65
_ENVIRONMENT: Final = 0.75
_PERSON: Final = 0.75
_SOURCE: Final = 0.7
_CREDENTIAL: Final = 0.85
_KEY: Final = 0.8
_CARRIED_MIN: Final = 10
"""What is shorter carries nothing that is looked for."""
_SENTENCES_MIN: Final = 40
_TOKEN_MIN: Final = 32
_PICTURE: Final = re.compile(
    r"(?i)\.(?:png|gif|jpe?g|svg|webp|avif|bmp|ico)$|/(?:pixel|px|beacon|hit|track|badge|collect)(?:[/.]|$)"
)
_IDENTIFIER: Final = re.compile(r"[\w.,:/~-]*")
_VARIABLE: Final = re.compile(r"(?:^|[\n;&,]) ?([A-Z][A-Z0-9_]{2,40})=")
_DNS_HEADER_BYTES: Final = 12
_DNS_NOT_A_QUERY: Final = 0xF8
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_CODES: Final = re.compile(r"(?:[0-9]{2,3}[-._,]){15,}[0-9]{2,3}")
_BITS: Final = re.compile(r"(?:[01]{8}){8,}")
_ESCAPED: Final = re.compile(r"\\[ux]\{?(?:00)?([0-9A-Fa-f]{2})\}?")
_SPACED_HEX: Final = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :_-]){23,}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])")
_NAMED_MAIL: Final = re.compile(r"[^\W\d_]{2,40}[ ,;:<(]{1,3}[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]{2,24}")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9_-]{1,128}\.){2,}[A-Za-z]{2,24}\.?")
"""With labels longer than a server takes (63 octets): who asks may not have counted."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9+_=-]{12,}")
_SPREAD_NAMES_MIN: Final = 8
"""Fewer names of parameters spell nothing."""
_SIGNING_FIELDS: Final = frozenset(("authorization", "proxy-authorization", "host", "content-type", "accept"))
_MARK_BYTES: Final = 12
_TEXT_BYTES_MIN: Final = 24
_DECODED_BYTES_MAX: Final = 4096
_DEPTH_MAX: Final = 2
_INNER_TOKENS_MAX: Final = 4
_SPACES_MIN: Final = 3
_HYPHENS_MIN: Final = 11
_SLUG_SIGNS: Final = "-_+"
_BETWEEN: Final = " :_-"
_LINES_MIN: Final = 3
_TEXT_IN_JSON: Final = re2.compile(r'"((?:[^"\\]|\\.){24,})"')
_PRINTABLE_SHARE: Final = 0.97
_GZIP: Final = b"\x1f\x8b"


def finder_of_carried_text(value: JsonValue) -> Callable[[bytes, Budget], Iterator[Match]]:
    """``value``: a call; of anything else nothing is found."""
    http = value.get("http") if isinstance(value, dict) else None
    known: JsonObject = http if isinstance(http, dict) else {}
    path = str(known.get("path", ""))
    query = known.get("query")
    segments, parameters = path.split("/"), [*_parameters(query)]
    texts = [*((None, one) for one in (*segments, *_joined_segments(path), *joined_uuids(segments))), *parameters]
    texts += [(None, one) for one in joined_pieces(parameters)]
    texts += [(None, one) for one in _names(query) if len(one) >= _TOKEN_MIN]
    plain = [*((None, unquote(one)) for one in segments), *parameters]
    spread = [*_spread(segments), *_spread([one for _, one in parameters])]
    if len(parameters) >= _SPREAD_NAMES_MIN:
        spread += _spread([*_names(query)])
    spread += [(one, PROSE_IN_ADDRESS, _PROSE) for one in sentences_in_series(parameters)]
    host = str(known.get("host", ""))
    body = value.get("body") if isinstance(value, dict) else None

    def found(buffer: bytes, budget: Budget) -> Iterator[Match]:
        budget.new_pass(len(buffer))
        for parameter, text in texts:
            if len(text) < _CARRIED_MIN:
                continue
            if not budget.allows_candidate():
                return
            for kind, where, confidence in _judged(parameter, text, budget, known):
                yield from _places(buffer, where, kind, confidence)
        for text, kind, confidence in spread:
            yield from _places(buffer, text, kind, confidence)
        if has_text(host):
            yield from _places(buffer, host, ENCODED_IN_ADDRESS, _ENCODED)
        if names_persons(plain, budget):
            yield from _places(buffer, "query:" if parameters else "path:", PERSON_IN_ADDRESS, _PERSON)
        if isinstance(query, dict) and is_environment(query):
            yield from _places(buffer, "query", ENVIRONMENT_IN_ADDRESS, _ENVIRONMENT)
        yield from _beside(buffer, known, body, budget)

    return found


def _beside(buffer: bytes, known: JsonObject, body: JsonValue, budget: Budget) -> Iterator[Match]:
    """Of header fields and the body."""
    for text in cookies_with_credentials(known, budget):
        yield from _places(buffer, text, CREDENTIAL_IN_COOKIE, _CREDENTIAL)
    for text in _header_texts(known):
        for token in _TOKEN.findall(text):
            if _carries(token, budget):
                yield from _places(buffer, token, ENCODED_IN_ADDRESS, _ENCODED)
    for address in called_addresses(buffer, budget) if body is not None else ():
        yield from _handed_on(address, budget)
    for name in names_of_keys(body):
        yield from _places(buffer, f"{name}:", KEY_BYTES, _KEY)


def _handed_on(address: CalledAddress, budget: Budget) -> Iterator[Match]:
    """What an address in the body carries, as the address of the call itself may."""
    segments = address.path.split("/")
    texts = [*((None, one) for one in (*segments, *_joined_segments(address.path))), *address.parameters]
    texts += [(None, one) for one in joined_pieces(address.parameters)]
    http: JsonObject = {"path": address.path}
    for parameter, text in texts:
        if len(text) < _CARRIED_MIN:
            continue
        if not budget.allows_candidate():
            return
        for kind, _, confidence in _judged(parameter, text, budget, http):
            yield Match(kind, address.start, address.end, confidence)


def _judged(parameter: str | None, text: str, budget: Budget, http: JsonObject) -> Iterator[tuple[str, str, float]]:
    """The kind, what stands for it, and how sure."""
    if len(text) >= _TOKEN_MIN and not text.startswith("data:"):
        for token in (*_TOKEN.findall(text), *_CODES.findall(text), *_SPACED_HEX.findall(_unquoted(text))):
            if _carries(token, budget):
                yield ENCODED_IN_ADDRESS, token, _ENCODED
    if _HOST.fullmatch(text) and carries_data(text):  # as DNS over HTTPS asks for it
        yield ENCODED_IN_ADDRESS, text, _ENCODED
    plain = _unquoted(text) if "%" in text or "&#" in text or "\\" in text else text
    if is_table(plain):
        yield TABLE_IN_ADDRESS, text, _TABLE
    elif "\n" in plain and is_source(plain) and not is_drawn(parameter):
        yield SOURCE_IN_ADDRESS, text, _SOURCE
    if not plain.isascii() and is_marked_without_spaces(plain):
        yield PROSE_IN_ADDRESS, text, _PROSE
        return
    if len(plain) < _SENTENCES_MIN:
        return
    yield from _judged_without_spaces(parameter, text, plain)
    if "=" in plain and is_environment(_VARIABLE.findall(plain)):
        yield ENVIRONMENT_IN_ADDRESS, text, _ENVIRONMENT
    if plain.count(" ") >= _SPACES_MIN:
        if is_disguised(plain):
            yield DISGUISED_IN_ADDRESS, text, _DISGUISED
        elif is_out_of_place(plain, parameter, is_picture=_is_of_picture(http)):
            yield PROSE_IN_ADDRESS, text, _PROSE


def _spread(values: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Texts of which each value is a word or a character."""
    words, characters = words_in_pieces(values), characters_in_pieces(values)
    if words is not None:
        yield words, PROSE_IN_ADDRESS, _PROSE
    if characters is not None:
        yield characters, ENCODED_IN_ADDRESS, _ENCODED


def _judged_without_spaces(parameter: str | None, text: str, plain: str) -> Iterator[tuple[str, str, float]]:
    """Base 85, assignments, and words between hyphens: the last two in segments only, as parameters often hold them."""
    if " " not in plain and _spells_text(plain):
        yield ENCODED_IN_ADDRESS, text, _ENCODED
    if parameter is None and is_assignments(text):
        yield SOURCE_IN_ADDRESS, text, _SOURCE
    if parameter is None and max(map(text.count, _SLUG_SIGNS)) >= _HYPHENS_MIN and is_told_in_slug(plain):
        yield PROSE_IN_ADDRESS, text, _PROSE


def _spells_text(text: str) -> bool:
    """Whether it is text in base 85, whose signs no identifier has."""
    if _IDENTIFIER.fullmatch(text) is not None:
        return False
    readable = (_readable(data) for _, _, data in base85_texts(text.encode("utf-8", "replace")))
    return any(one is not None and _reads_as_text(one) for one in readable)


def _unquoted(text: str) -> str:
    """Encoded up to three times: what decodes once, hides by a second encoding. Then references and escapes of
    characters, as pages and JSON write them."""
    for _ in range(3):
        plain = unquote(text)
        if plain == text:
            break
        text = plain
    if "&#" in text:
        text = html.unescape(text)
    return _ESCAPED.sub(lambda one: chr(int(one[1], 16)), text) if "\\" in text else text


def _parameters(query: JsonValue) -> Iterator[tuple[str, str]]:
    """Each value with its name in lower case; several values of one name also as one text."""
    if not isinstance(query, dict):
        return
    for name, value in query.items():
        texts = [*_strings(value)]
        yield from ((name.lower(), one) for one in texts)
        if len(texts) > _SPACES_MIN:
            yield name.lower(), " ".join(texts)


def _names(query: JsonValue) -> Iterator[str]:
    """Of parameters, which carry as much as their values."""
    return (str(name) for name in query) if isinstance(query, dict) else iter(())


def _header_texts(http: JsonObject) -> Iterator[str]:
    """Values of header fields that are long enough to carry something, except those with which agents sign in."""
    headers = http.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if name not in _SIGNING_FIELDS:
            yield from (one for one in _strings(value) if len(one) >= _TOKEN_MIN)


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
    elif isinstance(value, dict):
        for member in value.values():
            yield from _strings(member)


def _is_of_picture(http: JsonObject) -> bool:
    """Whether it is the address of a picture or a beacon, which have no use for sentences."""
    headers = http.get("headers")
    accept = headers.get("accept") if isinstance(headers, dict) else None
    return _PICTURE.search(str(http.get("path", ""))) is not None or (
        isinstance(accept, str) and accept.startswith("image/")
    )


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
        if (name := _question(unpacked)) is not None and carries_data(name):
            return True
        text = _readable(unpacked)
        if text is None:
            continue
        if _reads_as_text(text) or is_identity_of_machine(text):
            return True
        inner = [*dict.fromkeys(_TOKEN.findall(text))][:_INNER_TOKENS_MAX] if depth < _DEPTH_MAX else []
        if any(_carries(one, budget, depth + 1) for one in inner):
            return True
    return False


def _question(data: bytes) -> str | None:
    """The name that a message of DNS asks for (RFC 8484: in base64 in the query; RFC 1035, section 4.1)."""
    if len(data) <= _DNS_HEADER_BYTES or data[2] & _DNS_NOT_A_QUERY or data[4:6] != b"\0\1":
        return None
    labels, at = list[bytes](), _DNS_HEADER_BYTES
    while at < len(data) and 0 < data[at] < 64:
        labels.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return b".".join(labels).decode("latin-1") if labels else None


def _unpacked(data: bytes) -> bytes:
    if data[:2] != _GZIP:
        return data
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, _DECODED_BYTES_MAX)
    except zlib.error:
        return b""


def _decoded(token: str) -> Iterator[bytes]:
    """Hexadecimal, base 32, base 64 (RFC 4648), and codes of characters with a sign between them."""
    if len(token) > 2 and token[2] in _BETWEEN and _SPACED_HEX.fullmatch(token):
        yield bytes.fromhex(re.sub("[ :_-]", "", token))
        return
    if _CODES.fullmatch(token):
        codes = [int(one) for one in re.split(r"[-._,]", token)]
        yield bytes(code for code in codes if code < 256)
        return
    if _BITS.fullmatch(token):
        yield int(token, 2).to_bytes(len(token) // 8)
        return
    bare = token.rstrip("=")
    if (data := from_hexadecimal(bare.encode())) is not None:
        yield data
        return
    if re.fullmatch(r"[A-Z2-7]+|[a-z2-7]+", bare) and len(bare) % 8 in (0, 2, 4, 5, 7):
        yield base64.b32decode(bare.upper() + "=" * (-len(bare) % 8))
    whole = bare[: len(bare) - (len(bare) % 4 == 1)]
    for text in (whole, bare.lstrip("=")[::-1][: len(whole)]):  # as it is, and backwards
        if (data := from_base64(text.encode())) is not None:
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
    """Words, lines, or a name with a mail address; of JSON, as cursors and tokens are, only sentences."""
    if text[:1] in ("{", "["):
        return any(map(is_sentence, _TEXT_IN_JSON.findall(text)))
    if "@" in text and _NAMED_MAIL.search(text) is not None:
        return True
    return text.count(" ") >= _SPACES_MIN or text.count("\n") >= _LINES_MIN - 1 or text.count(",") > 2 * _SPACES_MIN


def _places(buffer: bytes, text: str, kind: str, confidence: float) -> Iterator[Match]:
    """Where it stands in the buffer; of joined segments or values, where the first one does. The buffer has the text as
    a reader sees it, so that invisible characters would hide the place: then it is the beginning of the call."""
    whole = text.encode("utf-8", "replace")
    for wanted in (whole, whole[:_MARK_BYTES], whole.partition(b" ")[0]):
        start = buffer.find(wanted) if wanted else -1
        if start >= 0:
            yield Match(kind, start, start + len(wanted), confidence)
            return
    yield Match(kind, 0, min(1, len(buffer)), confidence)
