"""One file of the spool: frames, each encrypted under a key of the file, which is encrypted under the master key.

A frame's head is in clear (whose it is, which of its organization's exchanges since the process began, what kind) and
authenticated with its content, as are the file's name and the frame's place in it: a frame that is moved, or taken from
another file, does not open. AES-256-GCM; the key encrypts one file, and the nonce is the frame's number in it
(NIST SP 800-38D, section 8.2.1), so that none repeats. What a process was writing when it died ends in the middle of a
frame, and is read up to there.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.vault.envelope import Envelope
from headgate.vault.service import Vault

MAGIC: Final = b"HGSPOOL1"
KEY_BYTES: Final = 32
_FRAME: Final = struct.Struct(">IBQ41s")
_PART: Final = struct.Struct(">H")
_FRAME_MAX: Final = 64 << 20


class DamagedError(Exception):
    """A file of the spool that no key opens; ``frame_owners`` tells what was in it."""


class FrameKind(IntEnum):
    EXCHANGE = 1
    LOSS = 2


class Frame(Struct, frozen=True):
    """``number``: how many of the organization's exchanges the process has settled with this one.

    ``content`` None: it does not open.
    """

    kind: FrameKind
    org_id: str
    number: int
    content: bytes | None


def segment_header(vault: Vault, name: str, key: bytes) -> bytes:
    """What a file begins with. Raises UnavailableError where there is no master key."""
    envelope = vault.seal_bytes(key, org_id="", name=_sealed_as(name))
    parts = (envelope.key_id.encode(), envelope.wrapped_key, envelope.ciphertext)
    return MAGIC + b"".join(_PART.pack(len(part)) + part for part in parts)


class FrameSealer:
    """Makes the frames of one file."""

    __slots__ = ("_cipher", "_name", "_next")

    def __init__(self, name: str, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._name = name.encode()
        self._next = 0

    def frame(self, kind: FrameKind, org_id: str, number: int, content: bytes) -> bytes:
        head = _FRAME.pack(len(content) + 16, kind, number, org_id.encode())
        sealed = self._cipher.encrypt(self._next.to_bytes(12), content, self._name + head)
        self._next += 1
        return head + sealed


def read_frames(vault: Vault, name: str, data: bytes) -> Iterator[Frame]:
    """All that is whole. Raises UnavailableError: the master key is not here. DamagedError: it does not open."""
    key, at = _key(vault, name, data)
    cipher = AESGCM(key)
    position = 0
    while at + _FRAME.size <= len(data):
        head = data[at : at + _FRAME.size]
        size, kind, number, org = _FRAME.unpack(head)
        end = at + _FRAME.size + size
        if size > _FRAME_MAX or end > len(data) or kind not in tuple(FrameKind):
            return
        try:
            content = cipher.decrypt(position.to_bytes(12), data[at + _FRAME.size : end], name.encode() + head)
        except InvalidTag:
            content = None
        yield Frame(FrameKind(kind), org.rstrip(b"\0").decode("ascii", "replace"), number, content)
        position += 1
        at = end


def segment_key_id(beginning: bytes) -> str | None:
    """Under which master key a file is, by its first bytes; None: it is no file of the spool, or ends before that."""
    at = len(MAGIC) + _PART.size
    if not beginning.startswith(MAGIC) or at > len(beginning):
        return None
    name = beginning[at : at + _PART.unpack_from(beginning, len(MAGIC))[0]]
    return name.decode("ascii", "replace") or None


def frame_owners(data: bytes) -> Iterator[tuple[str, int]]:
    """Organization and number of each exchange in a file that does not open; nothing vouches for them."""
    at = len(MAGIC)
    for _ in range(3):
        if at + _PART.size > len(data):
            return
        at += _PART.size + _PART.unpack_from(data, at)[0]
    while at + _FRAME.size <= len(data):
        size, kind, number, org = _FRAME.unpack_from(data, at)
        if kind == FrameKind.EXCHANGE:
            yield org.rstrip(b"\0").decode("ascii", "replace"), number
        at += _FRAME.size + size


def _key(vault: Vault, name: str, data: bytes) -> tuple[bytes, int]:
    parts: list[bytes] = []
    at = len(MAGIC)
    if data[:at] != MAGIC:
        raise DamagedError(f"{name} is not a file of the spool")
    for _ in range(3):
        if at + _PART.size > len(data):
            raise DamagedError(f"{name} ends before its first frame")
        (size,) = _PART.unpack_from(data, at)
        parts.append(data[at + _PART.size : at + _PART.size + size])
        at += _PART.size + size
    envelope = Envelope(parts[0].decode("ascii", "replace"), parts[1], parts[2])
    try:
        return vault.unseal_bytes(envelope, org_id="", name=_sealed_as(name)), at
    except UnavailableError as error:
        if isinstance(error.__cause__, InvalidTag | ValueError):
            raise DamagedError(f"{name} cannot be decrypted") from error
        raise


def _sealed_as(name: str) -> str:
    return f"traffic spool {name}"
