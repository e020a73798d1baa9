"""Words in look-alike letters and with combining marks, in ASCII (Unicode Technical Standard #39, section 4).

Not the standard's skeleton, which folds ASCII too (1, I and l): only what is not ASCII changes, so that credentials and
keywords keep their form. ``config/detectors/confusables.yaml`` is the table.
"""

import unicodedata
from functools import cache
from itertools import chain
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.unicode_categories import characters_of

_LETTERS_MIN: Final = 3


def ascii_skeleton(text: str) -> str | None:
    """The words that have other letters or marks and then are ASCII, a line each; None: there is none."""
    table = _table()
    words: list[str] = []
    for word in text.split():
        if word.isascii():
            continue
        bare = unicodedata.normalize("NFD", word).translate(table)
        if bare.isascii() and len(bare) >= _LETTERS_MIN:
            words.append(bare)
    return "\n".join(words) if words else None


@cache
def _table() -> dict[int, str | None]:
    table: dict[int, str | None] = dict.fromkeys(chain(characters_of("Mn"), characters_of("Me")))
    document = read_document(resource_path("detectors", "confusables.yaml"))
    for shown in document.members:
        table |= {int(code, 16): shown for code in document.text(shown).split()}
    return table
