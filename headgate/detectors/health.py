"""Health data of a person: a heuristic by classes of words, and by the codes of records.

A diagnosis, an illness, a treatment and a dose are ordinary in articles and searches. They are data of a person if a
date of birth, a mail address or the name of a patient stands near them. Records in FHIR (HL7) name what they hold: a
Patient, and a resource such as Condition. ``config/detectors/health.yaml`` is the table.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from msgspec import Struct
from regorus import BytePattern

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.context_words import ContextWords
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.table_entries import compiled

HEALTH_DATA: Final = "health_data"
_RECORD: Final = 0.9
_BY_WORDS: Final = 0.75
_NEAR_BYTES: Final = 600
_CLASSES_MIN: Final = 2
_PERSONAL: Final = BytePattern(rb"(?m)^(?:[a-z A-Z]{1,40} )?resourceType: Patient$")
_CLINICAL: Final = BytePattern(
    rb"(?m)^(?:[a-z A-Z]{1,40} )?resourceType: (?:Condition|Observation|Medication(?:Request|Statement|Administration)"
    rb"|AllergyIntolerance|DiagnosticReport|Procedure|Immunization|CarePlan|FamilyMemberHistory|ClinicalImpression)$"
)
_DATED: Final = BytePattern(rb"[A-Z][a-z]{1,24} [A-Z][a-z]{1,24},? (?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]\b")
_MAIL: Final = BytePattern(rb"[\w.+-]{1,64}@[\w-]{1,64}\.[a-z]{2,12}")
_DATE: Final = BytePattern(
    rb"\b(?:(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]|[0-3]?[0-9][./][01]?[0-9][./](?:19|20)[0-9]{2})\b"
)
_BIRTH: Final = "date_of_birth"


class HealthWords(Struct, frozen=True):
    """``anchor``: any word of a class. ``person``: words for whose data it is."""

    anchor: BytePattern
    classes: tuple[BytePattern, ...]
    person: BytePattern


@cache
def health_words() -> HealthWords:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "health.yaml"))
    document.only("classes", "person")
    section = document.section("classes")
    names = [*section.members]
    return HealthWords(
        _compiled(section, *(one for name in names for one in section.strings(name))),
        tuple(_compiled(section, *section.strings(name)) for name in names),
        _compiled(document, *document.strings("person")),
    )


def find_health_data(buffer: bytes, words: ContextWords, budget: Budget) -> Iterator[Match]:
    """The first word of each place with several classes, and the records of a bundle."""
    person = _PERSONAL.search(buffer)
    clinical = _CLINICAL.search(buffer) if person is not None else None
    if clinical is not None:
        yield Match(HEALTH_DATA, clinical.start(), clinical.end(), _RECORD)
        return
    known, read_to = health_words(), 0
    for found in known.anchor.finditer(buffer):
        if found.start() < read_to:
            continue
        if not budget.allows_candidate():
            return
        read_to = found.start() + _NEAR_BYTES
        start = max(0, found.start() - _NEAR_BYTES)
        near = buffer[start:read_to]
        if sum(one.search(near) is not None for one in known.classes) < _CLASSES_MIN:
            continue
        if _names_a_person(near, start, words, known):
            yield Match(HEALTH_DATA, found.start(), found.end(), _BY_WORDS)


def _names_a_person(near: bytes, start: int, words: ContextWords, known: HealthWords) -> bool:
    """A date after a word for birth, or after two names; or a mail address beside a word for whose data it is."""
    if _DATED.search(near) is not None:
        return True
    dated = (
        any(start <= end <= start + len(near) for end in words.ends.get(_BIRTH, ())) and _DATE.search(near) is not None
    )
    return dated or (_MAIL.search(near) is not None and known.person.search(near) is not None)


def _compiled(section: Section, *patterns: str) -> BytePattern:
    joined = "|".join(f"(?:{one})" for one in patterns)
    return compiled(section, rf"(?i)\b(?:{joined})")
