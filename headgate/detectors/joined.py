"""Texts of several places read as one: a credential cut into fields, or sent over several requests.

Only what is exact counts there (credentials of a known form, keywords): numbers side by side make any telephone number.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final

from headgate.detectors.document import ROOT, Document, JoinedText, Origin
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.model import Match
from headgate.detectors.secret_checks import LIKELY
from headgate.detectors.secret_formats import secret_formats
from headgate.detectors.secrets import WORD, find_secrets

JOINED_STEPS: Final = frozenset(("fields", "requests"))
JOINED_BYTES_MAX: Final = 16_384
"""Of the fields of one request, read as one."""

_PIECE_MAX: Final = 256
_PROSE: Final = re.compile(r"[^\W\d_]{1,24}(?:[,.;:!?)]{0,2} [(\"']?[^\W\d_]{1,24}){7,}[)\"'.,;:!?]{0,3}")
_WORD_MIN: Final = 3
"""Characters of a word of prose and the space before it, on average; single letters with spaces spell something."""
_EDGE_WORDS: Final = 3
_DIGITS: Final = re.compile(r"[0-9]+")
_CREDENTIAL_MAX: Final = 512
_ENDS_MAX: Final = 16
_KEYWORD: Final = "keyword"
_REQUESTS: Final = frozenset(("requests",))
_PAYLOAD: Final = "*"
"""The place of all that a request carries: what is cut into its fields is whole there."""
_PATIENT: Final = Limits(seconds_max=0.05)


def edges_of(text: str) -> str:
    """What of a text may go on in another: all of a short one, else its beginning and its end. Of sentences a few words
    at each end: what stands between them is a text by itself, which has been looked at."""
    if len(text) <= _PIECE_MAX:
        return f"{_first_words(text)}\n{_last_words(text)}" if _is_prose(text) else text
    head, tail = text[: _PIECE_MAX // 2], text[-_PIECE_MAX // 2 :]
    first = _first_words(head) if _is_prose(head) else head
    last = _last_words(tail) if _is_prose(tail) else tail
    return f"{first}\n{last}"


def _is_prose(text: str) -> bool:
    return _PROSE.fullmatch(text) is not None and len(text) > _WORD_MIN * text.count(" ")


def _first_words(text: str) -> str:
    return " ".join(text.split(" ", _EDGE_WORDS)[:_EDGE_WORDS])


def _last_words(text: str) -> str:
    return " ".join(text.rsplit(" ", _EDGE_WORDS)[-_EDGE_WORDS:])


def joined_texts(documents: Sequence[Document], earlier: Sequence[JoinedText]) -> Iterator[tuple[Origin, str]]:
    """All values in their order; those whose names differ in a number only; those of several requests."""
    in_order: list[str] = []
    by_name: dict[str, list[str]] = {}
    left = JOINED_BYTES_MAX
    for name, text in chain.from_iterable(document.outermost_texts() for document in documents):
        if not text:
            continue
        short = edges_of(text)
        left -= len(short)
        if left < 0:
            break
        in_order.append(short)
        if name is not None:
            by_name.setdefault(_DIGITS.sub("", name), []).append(short)
    if len(in_order) > 1:
        groups = [in_order, *(texts for texts in by_name.values() if 1 < len(texts) < len(in_order))]
        yield Origin(ROOT, "fields", None), "\n".join(_lines(texts, least_end=0) for texts in groups)
    for one in earlier:
        before = "".join(one.before)
        text = _lines([*one.before, one.text], least_end=len(before) + 1)
        yield Origin(ROOT, "requests", None, size=len(before.encode("utf-8", "replace"))), text


def _lines(pieces: list[str], *, least_end: int) -> str:
    """All in one, and then a line from each beginning of a credential to each end of a piece after it: what stands
    beside it is another text, and no part of a longer word."""
    whole = "".join(pieces)
    starts = {0, *accumulate(map(len, pieces))}
    ends = [end for end in sorted(starts) if end >= least_end]
    lines, left = [whole], JOINED_BYTES_MAX
    data = whole.encode("ascii", "replace")  # as many bytes as characters
    for start, past in _beginnings(data, starts):
        for end in ends[bisect_right(ends, past) :][:_ENDS_MAX]:
            left -= end - start
            if end - start > _CREDENTIAL_MAX or left < 0:
                break
            lines.append(whole[start:end])
        if left < 0:
            break
    return "\n".join(lines)


def _beginnings(data: bytes, starts: Collection[int]) -> list[tuple[int, int]]:
    """Where credentials begin, in order, and where what tells them ends. At the start of a piece one counts whatever is
    found across it: "abi" before "AKIA" makes another beginning, which ends within."""
    pattern = secret_formats().joined_beginnings
    at_starts = (pattern.match(data, start) for start in starts)
    found = {one.start(): one.end() for one in (*pattern.finditer(data), *at_starts) if one is not None}
    # "sk" in "asked" begins no credential.
    return sorted(one for one in found.items() if one[0] in starts or data[one[0] - 1] not in WORD)


def counts_joined(document: Document, match: Match) -> bool:
    """Whether it is exact enough, and not all in what came before."""
    if match.kind != _KEYWORD and (match.kind not in secret_formats().kinds or match.confidence < LIKELY):
        return False
    piece = document.piece_at(match.start)
    origin, start, end = piece.origin, match.start, match.end
    while origin.step not in JOINED_STEPS and origin.outer is not None:
        if origin.end:
            start, end = origin.start, origin.end
        origin = origin.outer
    return end > document.piece_at(start).text_start + origin.size


def is_whole_in_a_request(document: Document, match: Match, text: str, joined: Sequence[JoinedText]) -> bool:
    """Whether what was found in joined requests is all in one of them, and there goes where it may: in a header field
    that the policy excepts, or to a destination that expects it. A pattern without an end reaches on into the next
    request; its beginning in the earlier one alone is a credential then."""
    if not document.piece_at(match.start).origin.has_step(_REQUESTS):
        return False
    for one in joined:
        if one.place != _PAYLOAD and (text in one.text or any(text in before for before in one.before)):
            return True
        before = "".join(one.before)
        size = next((size for size in range(min(len(before), len(text)), 0, -1) if before.endswith(text[:size])), 0)
        if size and any(found.kind == match.kind for found in find_secrets(text[:size].encode(), Budget(_PATIENT))):
            return True
    return False
