"""Precision, recall and F1 of findings against labels: one is right where kind and value agree."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.labelled.fill import Label, LabelledText

type Found = Callable[[str], list[tuple[str, str]]]
"""Text to (kind, value) of all that was found in it."""


@dataclass
class Score:
    right: int = 0
    missed: list[tuple[str, Label]] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    missed_kinds: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(1e-9, self.precision + self.recall)


def score(texts: Iterable[LabelledText], found: Found, *, kinds_matter: bool = True) -> Score:
    """``kinds_matter``: False where several names for one credential are right."""
    result = Score()
    for text in texts:
        open_findings = found(text.text)
        for label in text.labels:
            hit = next((one for one in open_findings if _agree(label, *one, kinds_matter)), None)
            if hit is None:
                result.missed.append((text.name, label))
                result.missed_kinds[label.kind] += 1
            else:
                result.right += 1
                open_findings = [one for one in open_findings if not _agree(label, *one, kinds_matter)]
        result.wrong.extend((text.name, kind, value) for kind, value in open_findings)
    return result


def _agree(label: Label, kind: str, value: str, kinds_matter: bool) -> bool:
    if kinds_matter and label.kind != kind:
        return False
    wanted, given = _bare(label.value), _bare(value)
    return bool(given) and (wanted in given or given in wanted)


def _bare(value: str) -> str:
    return "".join(one for one in value.lower() if one.isalnum())
