"""The buffer of all texts of a content."""

import gc
import sys

from headgate.detectors.document import Document, Origin
from headgate.detectors.limits import DEFAULT_LIMITS


def test_nothing_is_left_of_a_document() -> None:
    """The engine's objects take no part in the collection of garbage: a cycle through one of them stays for ever, and
    each content that was inspected left its texts in the process."""
    origin = Origin(None, "a step", None)
    gc.collect()
    before = sys.getrefcount(origin)
    for _ in range(10):
        document = Document()
        assert list(document.add_ordinary({"name": "a text", "items": ["another"]}, origin, DEFAULT_LIMITS)) == []
        assert document.pieces
        del document
    gc.collect()
    assert sys.getrefcount(origin) == before
