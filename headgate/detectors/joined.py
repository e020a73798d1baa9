"""Texts of several places read as one: a credential cut into fields, or sent over several requests.

Only what is exact counts there (credentials of a known form, keywords): numbers side by side make any telephone number.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from regorus import joined_fields, joined_lines

from headgate.detectors.document import ROOT, Document, JoinedText, Origin
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.model import Match
from headgate.detectors.secret_checks import LIKELY
from headgate.detectors.secret_formats import secret_formats
from headgate.detectors.secrets import find_secrets

JOINED_STEPS: Final = frozenset(("fields", "requests"))
JOINED_CHARACTERS_MAX: Final = 16_384
"""Of the fields of one request, read as one."""

_KEYWORD: Final = "keyword"
_REQUESTS: Final = frozenset(("requests",))
_PAYLOAD: Final = "*"
"""The place of all that a request carries: what is cut into its fields is whole there."""
_PATIENT: Final = Limits(seconds_max=0.05)


def joined_texts(documents: Sequence[Document], earlier: Sequence[JoinedText]) -> Iterator[tuple[Origin, str]]:
    """All values in their order; those whose names differ in a number only; those of several requests."""
    beginnings = secret_formats().joined_beginnings
    fields = joined_fields([one.texts for one in documents], beginnings, JOINED_CHARACTERS_MAX)
    if fields is not None:
        yield Origin(ROOT, "fields", None), fields
    for one in earlier:
        before = "".join(one.before)
        text = joined_lines([*one.before, one.text], beginnings, len(before) + 1)
        yield Origin(ROOT, "requests", None, size=len(before.encode("utf-8", "replace"))), text


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
    if any(_is_cut(one, text) and not _has_beginning(one, match, text) for one in joined):
        return False
    return any(_has_all(one, text) or _has_beginning(one, match, text) for one in joined)


def _is_cut(one: JoinedText, text: str) -> bool:
    """Whether pieces make it, and no request that has it whole: what went where it may is not sent on in halves."""
    pieces = [before for before in one.before if text not in before]
    return text not in one.text and text in "".join((*pieces, one.text))


def _has_all(one: JoinedText, text: str) -> bool:
    if one.place == _PAYLOAD:
        return any(text in before for before in one.before)
    return text in one.text or any(text in before for before in one.before)


def _has_beginning(one: JoinedText, match: Match, text: str) -> bool:
    before = "".join(one.before)
    size = next((size for size in range(min(len(before), len(text)), 0, -1) if before.endswith(text[:size])), 0)
    return size > 0 and any(found.kind == match.kind for found in find_secrets(text[:size].encode(), Budget(_PATIENT)))
