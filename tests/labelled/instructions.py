"""Texts of tools, with instructions to the program that reads them (``injected``) and without.

``injections_PART.jsonl`` holds what was written by hand: instructions, plain texts (most of them imperatives to
people), and documents with a place, ``{{here}}``. Each instruction and each plain text is taken by itself and in
documents, so that the document alone says nothing about the label. Styles and kinds of documents are of one part.
``unseen`` holds whole answers of tools, each counted once; its ``source`` is mail, page, issue, code or log.
``varied`` holds orders in disguises that the other parts lack, and plain texts of the same kinds, each counted once.
``written`` holds texts of sixty-seven writers for training, each counted once; its ``source`` is the writer. The
committed weights know the first fifty-two.
``blind`` holds texts of another writer, in styles of their own, which nothing was tuned on; each counted once.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Part = Literal["development", "heldout", "unseen", "varied", "written", "blind"]

_FOLDER = Path(__file__).parent
_DOCUMENTS_EACH = 3
_PLACE = "{{here}}"


@dataclass(frozen=True)
class ToolText:
    style: str
    language: str
    document: str | None
    text: str
    injected: bool


def tool_texts(part: Part) -> Iterator[ToolText]:
    """Always the same, in the same order."""
    records = [json.loads(line) for line in (_FOLDER / f"injections_{part}.jsonl").read_text("utf-8").splitlines()]
    documents = [one for one in records if one["kind"] == "document"]
    rng = random.Random(part)  # noqa: S311 - repeatable, not secret
    for one in documents:
        yield ToolText("document", one["language"], one["style"], _filled(one["text"], ""), injected=False)
    for one in records:
        if one["kind"] == "document":
            continue
        injected = one["kind"] == "injected"
        yield ToolText(one["style"], one["language"], one.get("source"), one["text"], injected)
        for document in rng.sample(documents, min(_DOCUMENTS_EACH, len(documents))):
            text = _filled(document["text"], one["text"])
            yield ToolText(one["style"], one["language"], document["style"], text, injected)


def _filled(document: str, text: str) -> str:
    """In JSON, as JSON writes it; in a comment, on one line."""
    if document.lstrip()[:1] in ("{", "["):
        text = json.dumps(text, ensure_ascii=False)[1:-1]
    elif any(f"{start}{_PLACE}" in document for start in ("# ", "// ", '"')):
        text = text.replace("\n", " ")
    return document.replace(_PLACE, text)
