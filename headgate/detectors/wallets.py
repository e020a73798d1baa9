"""Wallets: addresses to which money goes and does not come back, and the keys that spend it.

Bitcoin addresses by their checksums: Base58Check, and bech32 and bech32m (BIP 173 and 350), of which python-stdnum 2.2
knows the first only. Private keys in wallet import format, encrypted (BIP 38) and extended ones (BIP 32), all
Base58Check, also backwards, or behind the name of a key, 32 bytes in hexadecimal near such a name, and key pairs of
Solana as 64 numbers. Ethereum addresses have a form only, and in mixed case a checksum that needs Keccak (ERC-55): they
count fully near a word.
"""

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain
from typing import Final

from regorus import BytePattern

from headgate.detectors.boundaries import stands_alone
from headgate.detectors.context_words import ContextWords
from headgate.detectors.document import text_at
from headgate.detectors.forms import FORMS
from headgate.detectors.key_bytes import is_random
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

WALLET_ADDRESS: Final = "wallet_address"
WALLET_KEY: Final = "wallet_key"
_CHECKED: Final = 0.95
_NEAR: Final = 0.95
_DIGITS_MIN: Final = 6
"""Kinds of digits in a key of 32 bytes; an example repeats a few."""
_BY_FORM: Final = 0.5
_BITCOIN: Final = FORMS.add(
    rb"\b(?:[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{11,87}|BC1[02-9AC-HJ-NP-Z]{11,87})\b"
)
_ETHEREUM: Final = FORMS.add(rb"\b0x[0-9a-fA-F]{40}\b")
_PRIVATE: Final = FORMS.add(
    rb"\b(?:[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|6P[1-9A-HJ-NP-Za-km-z]{56}|[xyz]prv[1-9A-HJ-NP-Za-km-z]{107})\b"
)
_REVERSED: Final = FORMS.add(
    rb"\b(?:[1-9A-HJ-NP-Za-km-z]{50,51}[5KL]|[1-9A-HJ-NP-Za-km-z]{56}P6|[1-9A-HJ-NP-Za-km-z]{107}vrp[xyz])\b"
)
"""A key backwards: the checksum tells, so that no word for it is needed."""
_KEY_NAMES: Final = (
    r"(?:priv(?:ate)?[ _-]?key|import_?raw_?key|(?:wallet|deployer|signer|account)[ _-]?(?:secret[ _-]?)?key"
    r"|clave[ _-]?privada|chave[ _-]?privada|chiave[ _-]?privata|cl[eé][ _-]?priv[eé]e|klucz[ _-]?prywatny"
    r"|privat(?:er|en)?[ _-]?schl(?:ue|ü)ssel|privat[ _-]?nyckel|приватный ключ|私钥|개인 ?키)"
).encode()
"""Of a private key. A name is written in the language of whoever made the field."""
_ALL_NAMES: Final = rb"(?:\bwif\b|wallet import format|\bseed\b|\bsecret(?:[ _-]?key)?\b|" + _KEY_NAMES + rb")"
_NAMES: Final = BytePattern(rb"(?i)" + _ALL_NAMES)
_RAW: Final = BytePattern(
    rb"(?i)" + _KEY_NAMES + rb"((?:[^\n]{0,60}\n\x00\n){0,2}[^\n]{0,60}?)\b(?:0x)?([0-9a-f]{64})\b"
)
_NAMED: Final = BytePattern(
    rb"(?i)" + _ALL_NAMES + rb"([^\n]{0,40}?)"
    rb"\b(?-i:([5KL][0-9A-Za-z]{50,51}|[xyz]prv[0-9A-Za-z]{80,120}|[1-9A-HJ-NP-Za-km-z]{86,88}))\b"
)
"""Behind its name a key needs no checksum: a typing error in it is soon found."""
_BYTES: Final = BytePattern(rb"\[\s{0,4}((?:[0-9]{1,3}\s{0,4},\s{0,4}){55,71}[0-9]{1,3})\s{0,4}\]")
_ABOUT_KEYS: Final = BytePattern(
    rb"(?i)\bid\.json|solana|phantom|key[ _-]?pair|(?:secret|private)[ _-]?key|wallet|treasury|\b(?:seed|sweep|sol)\b"
)
_COMMAS_MIN: Final = 55
_SOLANA_BYTES: Final = 64
_NOT_PRIVATE: Final = BytePattern(rb"(?i)public|address|sha|hash|digest|fingerprint|\bid\b|checksum|\btx")
"""Between the name of a key and 64 hexadecimal digits: they are something else."""
_ALPHABET: Final = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32: Final = {letter: value for value, letter in enumerate(b"qpzry9x8gf2tvdw0s3jn54khce6mua7l")}
_BECH32_PREFIX: Final = (3, 3, 0, 2, 3)  # "bc": the high bits of each letter, 0, the low ones
_BECH32_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_CONSTANTS: Final = (1, 0x2BC830A3)
_CHECKSUM_BYTES: Final = 4
_ZERO: Final = b"0x" + b"0" * 40


def find_wallets(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """Addresses."""
    for found in _BITCOIN.finditer(buffer):
        if not budget.allows_candidate():
            return
        if stands_alone(buffer, *found.span()) and is_address(found[0]):
            yield Match(WALLET_ADDRESS, found.start(), found.end(), _CHECKED)
    for found in _ETHEREUM.finditer(buffer):
        if not budget.allows_candidate():
            return
        if found[0] != _ZERO:
            is_named = words.near(WALLET_ADDRESS, found.start(), found.end(), buffer)
            yield Match(WALLET_ADDRESS, found.start(), found.end(), _NEAR if is_named else _BY_FORM)


def find_wallet_keys(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Private keys."""
    for found in chain(_PRIVATE.finditer(buffer), _REVERSED.finditer(buffer)):
        if not budget.allows_candidate():
            return
        if _has_checksum(found[0]) or _has_checksum(found[0][::-1]):
            yield Match(WALLET_KEY, found.start(), found.end(), _CHECKED)
    if buffer.count(b",") >= _COMMAS_MIN:
        yield from _key_pairs(buffer, budget)
    if _NAMES.search(buffer) is None:
        return
    for found in _RAW.finditer(buffer):
        if not budget.allows_candidate():
            return
        if _NOT_PRIVATE.search(found[1]) is None and len(set(found[2])) > _DIGITS_MIN:
            yield Match(WALLET_KEY, found.start(2), found.end(2), _NEAR)
    for found in _NAMED.finditer(buffer):
        if not budget.allows_candidate():
            return
        if _NOT_PRIVATE.search(found[1]) is None and len(set(found[2])) > _DIGITS_MIN:
            yield Match(WALLET_KEY, found.start(2), found.end(2), _NEAR)


def _key_pairs(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Of Solana, written into a text; as a list of numbers they are no text (``detectors.key_bytes``)."""
    for found in _BYTES.finditer(buffer):
        if not budget.allows_candidate():
            return
        numbers = [int(one) for one in found[1].split(b",")]
        if max(numbers) > 0xFF or not is_random(bytes(numbers)):
            continue
        start, end = text_at(buffer, found.start())
        if len(numbers) == _SOLANA_BYTES or _ABOUT_KEYS.search(buffer, start, end) is not None:
            yield Match(WALLET_KEY, found.start(), found.end(), _NEAR)


def is_address(text: bytes) -> bool:
    """Whether the checksum of an address in Base58Check or of Bitcoin's bech32 is right."""
    return _has_bech32_checksum(text.lower()) if text[:2] in (b"bc", b"BC") else _has_checksum(text)


def _has_bech32_checksum(text: bytes) -> bool:
    """BIP 173, "Checksum": a BCH code over the prefix and all that follows it."""
    checksum = 1
    for value in (*_BECH32_PREFIX, *(_BECH32[letter] for letter in text[3:])):
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, part in enumerate(_BECH32_GENERATOR):
            checksum ^= part if top >> bit & 1 else 0
    return checksum in _BECH32_CONSTANTS


def _has_checksum(text: bytes) -> bool:
    """Base58Check: the last four bytes begin the doubled SHA-256 of the rest."""
    number = 0
    for letter in text:
        number = number * 58 + _ALPHABET.index(letter)
    zeros = len(text) - len(text.lstrip(b"1"))  # a leading 1 is a byte of zeros
    decoded = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    payload, checksum = decoded[:-_CHECKSUM_BYTES], decoded[-_CHECKSUM_BYTES:]
    return sha256(sha256(payload).digest()).digest()[:_CHECKSUM_BYTES] == checksum
