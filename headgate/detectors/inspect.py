"""One inspection: a text or a JSON value, some detectors, everything that they found and what they could not see."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from headgate.detectors.decode import document_of
from headgate.detectors.document import Attachment, Document, JoinedText, Places
from headgate.detectors.joined import JOINED_STEPS, counts_joined, is_whole_in_a_request
from headgate.detectors.limits import DEFAULT_LIMITS, Budget, Limits
from headgate.detectors.model import Finding, GapReason, Inspection, Match, masked_sample
from headgate.detectors.prepare import prepare
from headgate.kernel.canonical_json import JsonValue

_MATCHES_PER_FINDING: Final = 4  # some overlap, and one place is one finding

type Detector = Callable[[bytes, Budget], Iterable[Match]]


def inspect(
    value: JsonValue,
    detectors: Sequence[Detector],
    limits: Limits = DEFAULT_LIMITS,
    attachments: Sequence[Attachment] = (),
    joined: Sequence[JoinedText] | None = None,
) -> Inspection:
    """Decode, then let each detector look at all of it. Takes milliseconds: run it in a thread where a loop waits.

    ``joined``: as ``document_of`` takes it. Only what is exact is found there (``detectors.joined``).
    """
    prepare()
    budget = Budget(limits)
    document = document_of(value, budget, attachments, joined)
    buffer = document.buffer()
    matches: list[Match] = []
    for detector in detectors:
        if not budget.has_time():
            break
        for match in detector(buffer, budget):
            matches.append(match)
            if len(matches) >= _MATCHES_PER_FINDING * limits.findings_max:
                budget.note(GapReason.FINDINGS, f"more than {limits.findings_max} findings")
                break
    findings = _findings(document, buffer, matches, budget, joined or ())
    return Inspection(tuple(findings), tuple(budget.gaps.values()))


def _findings(
    document: Document, buffer: bytes, matches: list[Match], budget: Budget, joined: Sequence[JoinedText]
) -> list[Finding]:
    findings: list[Finding] = []
    places = Places(document, buffer)
    known: set[tuple[str, str]] = set()
    for match in sorted(in_one_piece(document, matches), key=lambda one: one.start):
        if len(findings) >= budget.limits.findings_max:
            budget.note(GapReason.FINDINGS, f"more than {budget.limits.findings_max} findings")
            break
        text = buffer[match.start : match.end].decode("utf-8", "replace")
        if document.piece_at(match.start).origin.has_step(JOINED_STEPS) and (
            (match.kind, text) in known
            or not counts_joined(document, match)
            or is_whole_in_a_request(document, match, text, joined)
        ):
            continue
        known.add((match.kind, text))
        findings.append(Finding(match.kind, match.confidence, places.of(match.start), masked_sample(text)))
    return findings


def in_one_piece(document: Document, matches: Iterable[Match]) -> list[Match]:
    """Without overlaps. What reaches over two texts stands in neither, and must not take the place of what does; the
    line break that ends a text is in none."""
    kept: list[Match] = []
    for one in matches:
        end = document.piece_at(one.start).end
        if one.end <= end + 1:
            kept.append(one if one.end <= end else replace(one, end=end))
    return without_overlaps(kept)


def without_overlaps(matches: list[Match]) -> list[Match]:
    """Of what overlaps, the surest; of equally sure ones, the longest."""
    kept: list[Match] = []
    last_end = -1
    for match in sorted(matches, key=lambda one: (one.start, -one.end)):
        if match.start >= last_end:
            kept.append(match)
            last_end = match.end
        elif (match.confidence, match.end - match.start) > (kept[-1].confidence, kept[-1].end - kept[-1].start):
            kept[-1] = match
            last_end = max(last_end, match.end)
    return kept
