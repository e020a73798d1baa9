"""One inspection: a text or a JSON value, some detectors, everything that they found and what they could not see."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import thread_time
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headgate.detectors.decode import document_of, joined_document_of
from headgate.detectors.document import SEPARATOR, Attachment, Document, JoinedText, Places, span_of
from headgate.detectors.forms import FORMS
from headgate.detectors.joined import JOINED_STEPS, counts_joined, is_whole_in_a_request
from headgate.detectors.limits import DEFAULT_LIMITS, Budget, Limits
from headgate.detectors.model import Finding, Gap, GapReason, Inspection, Match, masked_sample
from headgate.detectors.prepare import prepare
from headgate.kernel.canonical_json import JsonValue

_MATCHES_PER_FINDING: Final = 4  # some overlap, and one place is one finding

type Detector = Callable[[bytes, Budget], Iterable[Match]]
type _Gaps = dict[GapReason, Gap]


class Aside(NamedTuple):
    """A part of a content that does not count for all who look at it; one value for each ``key``. It is decoded by
    itself: digits with anything between them are read across values, and would carry it into those beside it. Whoever
    looks at it too reads it behind the content."""

    key: frozenset[str]
    value: JsonValue


class Look(Struct, frozen=True):
    """What is looked for, and where. ``aside``: what is looked at beside the content. ``joined_detectors`` look at what
    the texts make together, also with ``joined``, those of earlier requests (``detectors.joined``). ``kinds``: that
    count; empty: all."""

    detectors: Sequence[Detector]
    joined_detectors: Sequence[Detector] = ()
    joined: tuple[JoinedText, ...] = ()
    kinds: frozenset[str] = frozenset()
    aside: Aside | None = None


class InspectedContent:
    """One content, decoded once for all who look at it; each detector runs once, whoever asks. Takes milliseconds: run
    it in a thread where a loop waits, and in one at a time. Decoding and one detector take ``limits.seconds_max``."""

    def __init__(
        self, value: JsonValue, limits: Limits = DEFAULT_LIMITS, attachments: Sequence[Attachment] = ()
    ) -> None:
        prepare()
        self._limits = limits
        self._began = thread_time() if limits.is_for_all else None
        self._content = self._decoded(lambda budget: document_of(value, budget, attachments))
        self._looked_at: dict[frozenset[str] | None, _LookedAt] = {None: self._together(self._content)}
        self._joined: dict[tuple[tuple[JoinedText, ...], frozenset[str] | None], _LookedAt] = {}

    def inspection(self, look: Look) -> Inspection:
        """Raises what a detector raises."""
        gaps: _Gaps = {}
        findings: list[Finding] = []
        known: set[tuple[str, str]] = set()
        limit = self._limits.findings_max
        for finding, text in self._all_found(look, gaps, known):
            if len(findings) >= limit:
                gaps.setdefault(GapReason.FINDINGS, _too_many(self._limits))
                break
            known.add((finding.kind, text))
            findings.append(finding)
        return Inspection(tuple(findings), tuple(gaps.values()))

    def _all_found(self, look: Look, gaps: _Gaps, known: set[tuple[str, str]]) -> Iterator[tuple[Finding, str]]:
        """Each with what was found. What is ``known`` is not found again in joined texts."""
        texts = self._with_aside(look.aside)
        yield from texts.found(look.detectors, look, gaps, known)
        if look.joined_detectors:
            yield from self._joined_texts(look, texts).found(look.joined_detectors, look, gaps, known)

    def _with_aside(self, aside: Aside | None) -> "_LookedAt":
        key = None if aside is None else aside.key
        if aside is not None and key not in self._looked_at:
            beside = self._decoded(lambda budget: document_of(aside.value, budget))
            self._looked_at[key] = self._together(self._content, beside)
        return self._looked_at[key]

    def _joined_texts(self, look: Look, texts: "_LookedAt") -> "_LookedAt":
        key = look.joined, None if look.aside is None else look.aside.key
        if key not in self._joined:
            documents = [one.document for one in texts.parts]
            decoded = self._decoded(lambda budget: joined_document_of(documents, look.joined, budget))
            self._joined[key] = self._together(decoded)
        return self._joined[key]

    def _decoded(self, make: Callable[[Budget], Document]) -> "_Decoded":
        now = thread_time()
        budget = Budget(self._limits, began=now if self._began is None else self._began)
        document = make(budget)
        return _Decoded(document, document.buffer(), budget.gaps, thread_time() - now)

    def _together(self, *parts: "_Decoded") -> "_LookedAt":
        return _LookedAt(self._limits, parts, self._began)


class _Decoded(Struct, frozen=True):
    """A document with its bytes, what could not be decoded, and how long it took."""

    document: Document
    buffer: bytes
    gaps: _Gaps
    seconds: float

    def found(self, matches: Iterable[Match], look: Look, known: set[tuple[str, str]]) -> Iterator[tuple[Finding, str]]:
        """In the order of the places, without overlaps."""
        places = Places(self.document, self.buffer)
        for match in sorted(in_one_piece(self.document, matches), key=lambda one: one.start):
            text = self.buffer[match.start : match.end].decode("utf-8", "replace")
            if self._counts(match, text, look, known):
                place = places.of(match.start)
                span = span_of(self.document.piece_at(match.start), place, text)
                yield Finding(match.kind, match.confidence, place, masked_sample(text), span), text

    def _counts(self, match: Match, text: str, look: Look, known: set[tuple[str, str]]) -> bool:
        return not self.document.piece_at(match.start).origin.has_step(JOINED_STEPS) or (
            # With more around it too: a pattern without an end reaches on into what is joined with it.
            not any(kind == match.kind and one in text for kind, one in known)
            and counts_joined(self.document, match)
            and not is_whole_in_a_request(self.document, match, text, look.joined)
        )


class _LookedAt:
    """Documents that are looked at as one, each decoded by itself, and what each detector has found in them."""

    def __init__(self, limits: Limits, parts: Sequence[_Decoded], began: float | None) -> None:
        """``began``: when the inspection did, whose seconds are for all."""
        self.parts = parts
        self._limits = limits
        self._began = began
        self._seconds = sum(one.seconds for one in parts)
        self._buffer = FORMS.text(SEPARATOR.join(one.buffer for one in parts))
        self._by_detector: dict[tuple[Detector, frozenset[str]], tuple[list[Match], _Gaps]] = {}

    def found(
        self, detectors: Sequence[Detector], look: Look, gaps: _Gaps, known: set[tuple[str, str]]
    ) -> Iterator[tuple[Finding, str]]:
        """Part by part; notes in ``gaps`` what was not looked at."""
        for part in self.parts:
            _add(gaps, part.gaps)
        matches: list[Match] = []
        for detector in detectors:
            of_detector, not_looked_at = self._matches(detector, look.kinds)
            _add(gaps, not_looked_at)
            matches += of_detector
        start = 0
        for part in self.parts if matches else ():
            end = start + len(part.buffer)
            yield from part.found(_within(matches, start, end), look, known)
            start = end + len(SEPARATOR)

    def _matches(self, detector: Detector, kinds: frozenset[str]) -> tuple[list[Match], _Gaps]:
        """Only of these ``kinds``, before they are counted: what does not count takes no place of what does."""
        key = detector, kinds
        if key not in self._by_detector:
            now = thread_time()
            budget = Budget(self._limits, began=now - self._seconds if self._began is None else self._began)
            matches: list[Match] = []
            for match in detector(self._buffer, budget) if budget.has_time(now) else ():
                if kinds and match.kind not in kinds:
                    continue
                matches.append(match)
                if len(matches) >= _MATCHES_PER_FINDING * self._limits.findings_max:
                    budget.gaps.setdefault(GapReason.FINDINGS, _too_many(self._limits))
                    break
            self._by_detector[key] = matches, budget.gaps
        return self._by_detector[key]


def _within(matches: Iterable[Match], start: int, end: int) -> Iterator[Match]:
    """Those that begin from ``start`` to ``end``, counted from there."""
    for one in matches:
        if start <= one.start < end:
            yield replace(one, start=one.start - start, end=one.end - start) if start else one


def inspect(
    value: JsonValue,
    detectors: Sequence[Detector],
    limits: Limits = DEFAULT_LIMITS,
    attachments: Sequence[Attachment] = (),
    joined: Sequence[JoinedText] | None = None,
) -> Inspection:
    """``InspectedContent`` for one look. ``joined``: not None, what the texts make together is looked at too."""
    look = Look(detectors, () if joined is None else detectors, tuple(joined or ()))
    return InspectedContent(value, limits, attachments).inspection(look)


def _add(gaps: _Gaps, more: _Gaps) -> None:
    for reason, gap in more.items():
        gaps.setdefault(reason, gap)


def _too_many(limits: Limits) -> Gap:
    return Gap(GapReason.FINDINGS, f"more than {limits.findings_max} findings")


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
