"""Host names that carry data: whoever runs the name server of a domain reads every name that is asked for below it.

MITRE ATT&CK T1048.003 and T1071.004 (exfiltration and tunnelling over DNS). A label has at most 63 octets and a name
255 (RFC 1035, section 2.3.4), so that data is encoded and spread over labels. A heuristic: it reads the destination,
the URLs in a request, and what commands look up. Names that clouds make from digests are known by their suffixes.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from regorus import BytePattern

from headgate.detectors.entropy import bits_per_character
from headgate.detectors.host_name_records import tells_person, tells_record
from headgate.detectors.imitated_hosts import begins_as_another, host_name_table, looks_like_another
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.kernel.short_key_cache import short_key_cache

ENCODED: Final = "encoded_host_name"
LONG: Final = "long_host_name"
WORDS: Final = "words_in_host_name"
RECORD: Final = "record_in_host_name"
IMITATED: Final = "imitated_host_name"
HOST_NAME_KINDS: Final = frozenset({ENCODED, LONG, WORDS, RECORD, IMITATED})
_DECODES: Final = 0.85
_DENSE: Final = 0.75
_TOO_LONG: Final = 0.65
_IN_WORDS: Final = 0.7
_TELLS_RECORD: Final = 0.75
_IMITATES: Final = 0.75

_HOST: Final = BytePattern(
    rb"(?im)(?:://(?:[^\s/@]{1,128}@)?|^host: |\b(?:dig|nslookup|host|ping)\s+(?:[-+@]\S{1,64}\s+){0,4})"
    rb"([a-z0-9_][a-z0-9_.-]{6,254})(?:[/:?#\s\"'<>)\]]|$)"
)
_FIELD: Final = b"host: "
_FIELD_LENGTH: Final = len(_FIELD)
_HEX: Final = re.compile(r"[0-9A-Fa-f]+")
_BASE32: Final = re.compile(r"[A-Za-z2-7]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9_-]+")
_CODES: Final = re.compile(r"(?:[01][0-9]{2}){8,}")
_WORD: Final = re.compile(r"[a-z]{3,}")
_REGION: Final = re.compile(
    r"(?:[a-z]{2,3}-)?(?:north|south|east|west|central|[a-z]{2,3}-[a-z]{2,3}(?![a-z]))[a-z]*(?:-[a-z]{0,10})?-?[0-9]{0,2}[a-z]?"
    r"|[a-z]{2,12}-?[a-z]{0,10}(?:north|south|east|west|central)[a-z]*-?[0-9]{0,2}[a-z]?|[a-z]{2,12}-[0-9]{1,2}[a-z]?"
)
_WORDS_MIN: Final = 8
_WORDY_LABELS_MIN: Final = 4
_LABELS_MAX: Final = 8
_CHARACTERS_MAX: Final = 110
_REGISTERED_LABELS: Final = 2
_TEXT_BYTES_MIN: Final = 8
_LETTERS_SHARE_MIN: Final = 0.6
_LONG_TEXT_BYTES: Final = 14
"""So many printable bytes do not come by chance, with fewer letters too."""
_LONG_LETTERS_SHARE_MIN: Final = 0.3
_RECORD_SHARE_MIN: Final = 0.9
_NUMBERS: Final = frozenset(b"0123456789 -./:;,|_=")
_DENSE_LABEL_MIN: Final = 16
_PIECE: Final = re.compile(r"(?=.{8})(?:[0-9a-f]+|(?!.*[a-z]{4})[a-z0-9]+)")
_SWITCH: Final = re.compile(r"[a-z][0-9]|[0-9](?=[a-z])")
_SWITCHES_MIN: Final = 3
_PIECES_MIN: Final = 3
_PIECES_CHARACTERS_MIN: Final = 32
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PART_MIN: Final = 16
"""Of a label between its hyphens."""
_DENSE_CHARACTERS_MIN: Final = 32
_DENSE_BITS_MIN: Final = 3.2
_DIGITS_MIN: Final = 3
_COUNTRY_LETTERS: Final = 2
_SPELLED_MIN: Final = 7
_SPELLED_KINDS_MIN: Final = 5
_CONTROLS: Final = frozenset(b"\t\n\r")
_CAPITALS_MIN: Final = 16
"""Names are written in lower case; so many capital letters are base 32, or a key."""


def find_host_names(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """In no order; each name once for each place."""
    budget.new_pass(len(buffer))
    for found in _HOST.finditer(buffer):
        if not budget.allows_candidate():
            return
        name = found[1].decode("ascii")
        verdict = _judged(name)
        if verdict is None and found[0][:_FIELD_LENGTH].lower() == _FIELD and _deceives(name.lower()):
            verdict = IMITATED, _IMITATES
        if verdict is not None:
            kind, confidence = verdict
            yield Match(kind, found.start(1), found.end(1), confidence)


def has_readable_labels(name: str) -> bool:
    """Whether labels of a host name, below the registered domain, are readable text that is encoded."""
    own = [one[4:] if _is_of_other_script(one) else one for one in _own_labels(name)]
    parts = [part for one in own for part in one.split("-") if len(part) >= _PART_MIN]
    return any(map(_is_text, (*own, *parts))) or (len(own) > 1 and _is_text("".join(own)))


def carries_data(name: str) -> bool:
    """Whether its labels are data that is encoded, or spell a record."""
    verdict = _judged(name)
    return verdict is not None and verdict[0] in (ENCODED, RECORD)


@short_key_cache(4096)
def _judged(name: str) -> tuple[str, float] | None:
    """The kind and how sure; None: a name like others."""
    if has_readable_labels(name):
        return ENCODED, _DECODES
    own = _own_labels(name)
    if tells_person(own):
        return RECORD, _TELLS_RECORD
    if name.lower().endswith(digest_suffixes()):
        return None
    if _is_dense_together(own) or _is_in_capitals(name, own) or _is_spelled(name.lower(), own):
        return ENCODED, _DENSE
    if _is_in_pieces(name.lower(), own):
        return ENCODED, _DENSE
    if _imitates(name.lower(), own):
        return IMITATED, _IMITATES
    if tells_record(own):
        return RECORD, _TELLS_RECORD
    if len(_labels(name)) > _LABELS_MAX or len(name) > _CHARACTERS_MAX:
        return LONG, _TOO_LONG
    return (WORDS, _IN_WORDS) if _is_in_words(name.lower()) else None


def _is_dense_together(own: list[str]) -> bool:
    """Whether labels are encoded bytes, or parts of several labels between hyphens are."""
    if sum(len(one) for one in own if _is_dense(one)) >= _DENSE_CHARACTERS_MIN:
        return True
    parts = [[part for part in one.split("-") if _is_dense(part)] for one in own]
    dense = [sum(map(len, one)) for one in parts if one]
    return len(dense) > 1 and sum(dense) >= _DENSE_CHARACTERS_MIN


def _is_spelled(name: str, own: list[str]) -> bool:
    """Whether labels spell a text letter by letter, in the words of a spelling alphabet."""
    parts = [part for one in own for part in one.lower().split("-")]
    if len(parts) < _SPELLED_MIN or is_private(name):
        return False
    spelled = [part for part in parts if part in spelling_words()]
    return len(spelled) >= _SPELLED_MIN and len(set(spelled)) >= _SPELLED_KINDS_MIN


def _is_in_pieces(name: str, own: list[str]) -> bool:
    """Whether a digest or a key is cut into pieces that are short by themselves (``2147b820.31b34a52.17115cf5.x``). In
    a piece letters and digits take turns, as in no name of a machine; a UUID is whole."""
    parts = [part for one in own if _UUID.fullmatch(one.lower()) is None for part in one.lower().split("-")]
    pieces = [one for one in parts if _PIECE.fullmatch(one) and len(_SWITCH.findall(one)) >= _SWITCHES_MIN]
    return len(pieces) >= _PIECES_MIN and sum(map(len, pieces)) >= _PIECES_CHARACTERS_MIN and not is_private(name)


def _imitates(name: str, own: list[str]) -> bool:
    return len(own) > 0 and not name.endswith(private_suffixes()) and begins_as_another(name)


@short_key_cache(4096)
def _deceives(name: str) -> bool:
    """Of the host that is called, which is in lower case."""
    return not is_private(name) and looks_like_another(name)


def _is_in_capitals(name: str, own: list[str]) -> bool:
    """Of a name that is public, and not all in capitals, as old programs write each."""
    return (
        not name.islower()
        and not name.isupper()
        and sum(one.isupper() for label in own for one in label) >= _CAPITALS_MIN
        and not is_private(name.lower())
    )


def _is_in_words(name: str) -> bool:
    """Whether several labels are words between hyphens: one is the name of a branch, two are a service and its owner.
    Names of private networks are not asked for outside."""
    if is_private(name):
        return False
    own = [one for one in _own_labels(name) if not _is_of_other_script(one)]
    wordy = [one for one in own if "-" in one and _REGION.fullmatch(one) is None and _WORD.search(one)]
    return len(wordy) >= _WORDY_LABELS_MIN and len({word for one in wordy for word in _WORD.findall(one)}) >= _WORDS_MIN


def _labels(name: str) -> list[str]:
    return name.rstrip(".").split(".")


def _own_labels(name: str) -> list[str]:
    """Below the registered domain."""
    return _labels(name)[:-_REGISTERED_LABELS]


def _is_of_other_script(label: str) -> bool:
    """Whether it begins as such a label does (RFC 5890); anything may follow."""
    return label[:4].lower() == "xn--"


def _is_text(label: str) -> bool:
    """Whether it is readable text in hexadecimal, base 32 or base 64 (RFC 4648), or codes of its characters."""
    return any(map(_is_readable, _decoded(label)))


def _decoded(label: str) -> Iterator[bytes]:
    if _CODES.fullmatch(label):
        yield bytes(int(label[at : at + 3]) for at in range(0, len(label), 3))
    if _HEX.fullmatch(label) and len(label) % 2 == 0:
        yield bytes.fromhex(label)
    if _BASE32.fullmatch(label) and len(label) % 8 in (0, 2, 4, 5, 7):
        yield base64.b32decode(label.upper() + "=" * (-len(label) % 8))
    if _BASE64.fullmatch(label) and label != label.lower() and label != label.upper():
        try:
            yield base64.urlsafe_b64decode(label + "=" * (-len(label) % 4))
        except binascii.Error:
            return


def _is_readable(text: bytes) -> bool:
    if len(text) < _TEXT_BYTES_MIN or not all(0x20 <= one < 0x7F or one in _CONTROLS for one in text):
        return False
    if _NUMBERS.issuperset(text):  # a card, a date, a sum: by chance one of 10^8 keys looks so
        return True
    letters = sum(chr(one).isalpha() or one == 0x20 for one in text)
    if len(text) >= _LONG_TEXT_BYTES:
        return letters >= _LONG_LETTERS_SHARE_MIN * len(text) or (letters > 0 and _is_record(text))
    return letters >= _LETTERS_SHARE_MIN * len(text)


def _is_record(text: bytes) -> bool:
    """Words and numbers, and little else (``cpf123.456.789-09``)."""
    return sum(chr(one).isalnum() or one in _NUMBERS for one in text) >= _RECORD_SHARE_MIN * len(text)


def _is_dense(label: str) -> bool:
    """As encoded bytes are: letters and digits mixed, and nothing that a person would say."""
    digits = sum(one.isdigit() for one in label)
    return (
        len(label) >= _DENSE_LABEL_MIN
        and "-" not in label
        and _DIGITS_MIN <= digits <= len(label) - _DIGITS_MIN
        and bits_per_character(label.encode()) >= _DENSE_BITS_MIN
    )


@cache
def digest_suffixes() -> tuple[str, ...]:
    """Of ``config/detectors/host_names.yaml``. Raises ValidationError."""
    return _suffixes("digest_suffixes")


@cache
def private_suffixes() -> tuple[str, ...]:
    """Of names that public servers do not know. Raises ValidationError."""
    return _suffixes("private_suffixes")


@cache
def spelling_words() -> frozenset[str]:
    """Of spelling alphabets, with words for digits and signs. Raises ValidationError."""
    return frozenset(host_name_table().strings("spelling"))


def is_private(name: str) -> bool:
    """Whether no public server knows the name, which is in lower case."""
    return name.rstrip(".").endswith(private_suffixes())


def _suffixes(key: str) -> tuple[str, ...]:
    return tuple(f".{one}" for one in host_name_table().strings(key))
