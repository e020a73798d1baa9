"""Credentials that come back: found in answers, in the forms in which services quote them, and masked.

As many asterisks as there were bytes: what frames the answer (Content-Length, ranges, events) stays true. The line
breaks that base64 and quoted-printable put anywhere (RFC 2045, sections 6.7 and 6.8) hide no form: they are looked
through. An empty line ends such a text, and events as well.
"""

import re
from collections.abc import Iterator
from typing import Final

from headgate.connections.credential import CertificateCredential, Credential, SigningCredential, ValueCredential
from headgate.connections.echo_forms import forms_of

_BREAK: Final = re.compile(rb"(?<!\n)=?\r?\n(?!\r?\n)")
_BREAK_BEGUN: Final = re.compile(rb"(?<!\n)(?:=\r?\n?|\r\n?|\n)\Z")
_LINES_LOOKED_THROUGH: Final = 4
"""How many times as long as a form what is left of it may be, with its line breaks."""
_BEGINNING: Final = 32
"""By how many bytes the beginning of a form is looked for: a private key's first ones are dashes, and so are a text's
rules, each of which would be compared with all forms."""
_HELD_BEFORE_A_BREAK: Final = 4
"""A line that ends in less of a form than this is passed on: a log's lines would all be late otherwise."""


class EchoMask:
    """Masks one credential. Immutable; ``stream`` gives what an answer needs that comes in pieces."""

    __slots__ = ("_begun_by", "_longest", "_short", "variants")

    def __init__(self, variants: frozenset[bytes]) -> None:
        self.variants = tuple(sorted(variants, key=len, reverse=True))
        self._longest = max(map(len, self.variants), default=0)
        self._short = frozenset(one[:length] for one in variants for length in range(1, min(len(one), _BEGINNING)))
        self._begun_by: dict[bytes, list[bytes]] = {}
        for one in self.variants:
            if len(one) > _BEGINNING:
                self._begun_by.setdefault(one[:_BEGINNING], []).append(one)

    def mask(self, data: bytes) -> bytes:
        found = self._found(data)
        masked = _pattern(found).sub(_stars, data) if found else data
        if b"\n" not in masked:
            return masked
        whole = _BREAK.sub(b"", masked)
        found = self._found(whole)
        return _mask_pieces(masked, whole, _pattern(found)) if found else masked

    def mask_text(self, text: str) -> str:
        return self.mask(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def stream(self) -> "EchoStream":
        return EchoStream(self)

    def pending(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of an echo."""
        longest = self._begun(data)
        tail = data[-_LINES_LOOKED_THROUGH * self._longest :]
        ending = _BREAK_BEGUN.search(tail)
        if ending is None and b"\n" not in tail:
            return longest
        body = tail if ending is None else tail[: ending.start()]
        whole = _BREAK.sub(b"", body)
        held = self._begun(whole)
        if held < _HELD_BEFORE_A_BREAK:
            return longest
        return max(longest, len(tail) - _places(body)[len(whole) - held])

    def _found(self, data: bytes) -> list[bytes]:
        """The forms in it, the longest first. A pattern of all of them takes half a second to make for a private key,
        and much longer to look."""
        return [one for one in self.variants if one in data]

    def _begun(self, data: bytes) -> int:
        longest = 0
        for beginning, variants in self._begun_by.items():
            tail = data[-(len(variants[0]) - 1) :]
            start = tail.find(beginning)
            while start >= 0 and len(tail) - start > longest:
                rest = tail[start:]
                if any(len(one) > len(rest) and one.startswith(rest) for one in variants):
                    longest = len(rest)
                    break
                start = tail.find(beginning, start + 1)
        if longest:
            return longest
        shorter = range(min(_BEGINNING - 1, len(data)), 0, -1)
        return next((length for length in shorter if data[-length:] in self._short), 0)


class EchoStream:
    """One answer in pieces. What cannot be the beginning of an echo is passed on at once: events stay timely."""

    __slots__ = ("_held", "_mask")

    def __init__(self, mask: EchoMask) -> None:
        self._mask = mask
        self._held = b""

    def feed(self, data: bytes, *, ends_message: bool = False) -> bytes:
        """``ends_message``: a message of gRPC ends with ``data``. No echo goes on in the head of the next one, and the
        client may wait for all of this one before it sends more."""
        masked = self._mask.mask(self._held + data)
        held = 0 if ends_message else self._mask.pending(masked)
        self._held = masked[len(masked) - held :]
        return masked[: len(masked) - held]

    def finish(self) -> bytes:
        """What was held back is no echo: it ended."""
        held, self._held = self._held, b""
        return held


def echo_mask(credential: Credential) -> EchoMask:
    return EchoMask(frozenset(form for text in _texts(credential) for form in forms_of(text)))


def _texts(credential: Credential) -> Iterator[str]:
    match credential:
        case ValueCredential():
            yield credential.value.reveal()
            yield from (one.reveal() for one in credential.beside)
        case SigningCredential():
            yield credential.secret_access_key.reveal()
            if credential.session_token is not None:
                yield credential.session_token.reveal()
        case CertificateCredential():
            key = credential.private_key.reveal()
            yield key
            # Its text between the lines that frame it (RFC 7468), however it is broken.
            yield "".join(line for line in key.splitlines() if not line.startswith("-----"))


def _pattern(forms: list[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, forms)))


def _mask_pieces(data: bytes, whole: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """The breaks stay where they are."""
    masked, places = bytearray(data), _places(data)
    for found in pattern.finditer(whole):
        for place in places[found.start() : found.end()]:
            masked[place] = ord("*")
    return bytes(masked)


def _places(data: bytes) -> list[int]:
    """Where the bytes of ``data`` without its line breaks stand in it."""
    places: list[int] = []
    start = 0
    for found in _BREAK.finditer(data):
        places += range(start, found.start())
        start = found.end()
    return [*places, *range(start, len(data))]


def _stars(match: re.Match[bytes]) -> bytes:
    return b"*" * len(match.group())
