"""Pieces of sentences, of which the learned windows consist."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.detectors.injection_tokens import PIECE_TOKENS

type Hit = tuple[int, tuple[str, ...]]
"""A character, and the classes of the word that begins there; with ``!`` where it stands as a command."""


class Known(NamedTuple):
    """A token: its first key, the sum of its weights, whether a piece or a text ends after it."""

    key: int
    weight: float
    ends_piece: bool
    ends_text: bool


class Pieces(NamedTuple):
    """``firsts``: the first token of each piece; ``lasts``: the token after its last; ``texts``: for each piece, the
    number of the piece after its text."""

    firsts: list[int]
    lasts: list[int]
    texts: list[int]


def pieces_of(known: Sequence[Known]) -> Pieces:
    firsts: list[int] = []
    lasts: list[int] = []
    texts: list[int] = []
    first = 0
    for number in [number for number, token in enumerate(known) if token[2]]:
        ends_text = known[number].ends_text
        last = number if ends_text else number + 1
        _cut(first, last, firsts, lasts)
        if ends_text:
            texts += [len(firsts)] * (len(firsts) - len(texts))
        first = number + 1
    _cut(first, len(known), firsts, lasts)
    texts += [len(firsts)] * (len(firsts) - len(texts))
    return Pieces(firsts, lasts, texts)


def _cut(first: int, last: int, firsts: list[int], lasts: list[int]) -> None:
    while last - first > PIECE_TOKENS:
        firsts.append(first)
        first += PIECE_TOKENS
        lasts.append(first)
    if last > first:
        firsts.append(first)
        lasts.append(last)
