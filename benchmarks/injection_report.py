"""What the committed weights of the detector of instructions do with each part, style by style, by totals
(``benchmarks.injection_training --report``)."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import numpy as np

from benchmarks.injection_mining import text_score
from benchmarks.injection_windows_training import threshold
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.decode import document_of
from headgate.detectors.injection_windows import window_model
from headgate.detectors.injection_words import injection_words
from headgate.detectors.limits import Budget, Limits
from headgate.nlp_policies.model import DEFAULT_THRESHOLD
from tests.labelled.clean import clean_texts, held_out_clean_texts
from tests.labelled.instructions import Part, ToolText, tool_texts

_EVALUATED: Final[tuple[Part, ...]] = ("heldout", "unseen", "varied", "blind")
_THRESHOLDS: Final = (DEFAULT_THRESHOLD, 0.75, 0.8, 0.85)
_WRONG_SHOWN: Final = (0.01, 0.02, 0.03, 0.05)
_PATIENT: Final = Limits(seconds_max=60)


def report_all(*, evaluated: bool, show: bool) -> None:
    """``evaluated``: also the parts that nothing is learned from. ``show``: the texts of mistakes too."""
    for model in (EmbeddedModel.INJECTION, EmbeddedModel.INTENT, EmbeddedModel.SAFETY):
        for part in ("development", *(_EVALUATED if evaluated else ())):
            texts = list(tool_texts(part))
            _report(part, texts, model, show=show and model is EmbeddedModel.INJECTION)
            if model is EmbeddedModel.INJECTION:
                print(f"  recall at equal false positives: {_curve(texts)}")
        for name, packages in (("development", clean_texts()), ("heldout", held_out_clean_texts())):
            flags = (assess(model, text).risk_score >= DEFAULT_THRESHOLD for _, text in packages)
            print(f"{name} {model.value} packages: {_share(flags)}")


def _report(part: Part, texts: Iterable[ToolText], model: EmbeddedModel, *, show: bool) -> None:
    by_style: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    risks: dict[bool, list[float]] = {True: [], False: []}
    for one in texts:
        risk = assess(model, one.text).risk_score
        flagged = risk >= DEFAULT_THRESHOLD
        risks[one.injected].append(risk)
        by_style[one.injected, one.style].append(flagged)
        if part in ("unseen", "blind"):
            by_style[one.injected, f"{one.document} (source)"].append(flagged)
        if show and flagged != one.injected:
            print("missed" if one.injected else "wrong ", one.style, one.language, one.document, repr(one.text)[:300])
    for injected, title in ((True, "recall"), (False, "false positives")):
        rows = {style: flags for (label, style), flags in by_style.items() if label is injected}
        print(f"{part} {model.value} {title}: {_share(risk >= DEFAULT_THRESHOLD for risk in risks[injected])}")
        curve = (f"{_share(risk >= least for risk in risks[injected])} at {least}" for least in _THRESHOLDS)
        print(f"  {'; '.join(curve)}")
        print("  " + ", ".join(f"{style} {_share(flags)}" for style, flags in sorted(rows.items())))


def _curve(texts: Iterable[ToolText]) -> str:
    """The threshold chosen for each share, in these texts: models with different bars can be compared."""
    listed = list(texts)
    words, model = injection_words(), window_model()
    looked = (document_of(one.text, Budget(_PATIENT)).buffer().decode() for one in listed)
    scores = np.array([text_score(text, words, model) for text in looked])
    injected = np.array([one.injected for one in listed])
    shares = [(wrong, (scores[injected] > threshold(scores, injected, wrong)).mean()) for wrong in _WRONG_SHOWN]
    return ", ".join(f"{share:.3f} at {wrong}" for wrong, share in shares)


def _share(flags: Iterable[bool]) -> str:
    listed = list(flags)
    return f"{sum(listed) / max(1, len(listed)):.3f} of {len(listed)}"
