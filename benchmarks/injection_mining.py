"""Passages of real files and packages that a model takes for instructions: plain texts that it learns from next.

Each kind of file gives as many passages as any other, and no file more than a few: one genre (licenses, say) would
crowd out the rest otherwise. The passages are read while training and written nowhere.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from benchmarks.injection_windows_training import Floats
from benchmarks.real_files import RealFile, chosen_files, read_file
from headgate.detectors.decode import document_of
from headgate.detectors.injection import SIGNS_ALONE, look
from headgate.detectors.injection_windows import Window, WindowModel, likely_windows
from headgate.detectors.injection_words import InjectionWords
from headgate.detectors.limits import Budget, Limits
from headgate.kernel.canonical_json import JsonObject
from tests.labelled.clean import clean_texts

_MINED_FILES_OF_PACKAGE: Final = 8
_OF_KIND_MAX: Final = 600
_OF_FILE_MAX: Final = 8
_AROUND: Final = 100
_PIECES: Final = "pieces"
"""The kind of ``clean_texts``."""
_BAR_FILES_OF_KIND: Final = 100
_PATIENT: Final = Limits(seconds_max=60)


class Round(NamedTuple):
    """How many files of a kind are mined, how far each is read, and the log odds from which a window counts."""

    files_of_kind: int
    characters: int
    over: float


MINING_ROUNDS: Final = (Round(250, 32_768, 0.0), Round(500, 65_536, 0.0), Round(1000, 65_536, -1.5))
"""The last is for the network: windows that it could be asked about."""


def mistaken_passages(model: WindowModel, words: InjectionWords, mining: Round) -> list[str]:
    """The likeliest of each kind."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for kind, text in _mined_texts(mining):
        windows = sorted(_windows(text, words, model, mining.over), key=lambda one: -one.log_odds)
        found[kind] += [
            (one.log_odds, text[max(0, one.start - _AROUND) : one.end + _AROUND]) for one in windows[:_OF_FILE_MAX]
        ]
    return balanced(found)


def balanced(found: Mapping[str, Iterable[tuple[float, str]]]) -> list[str]:
    """``found``: of each kind, log odds and passage."""
    chosen: dict[str, None] = {}
    for _, of_kind in sorted(found.items()):
        fresh = dict.fromkeys(text for _, text in sorted(of_kind, reverse=True) if text not in chosen)
        chosen.update(dict.fromkeys(list(fresh)[:_OF_KIND_MAX]))
    return list(chosen)


def bar_file_scores(model: WindowModel, words: InjectionWords) -> Floats:
    """The log odds of each whole file of the part ``bar``, as of ``text_score``."""
    return np.array([text_score(text, words, model) for text in map(_text_of, chosen_files("bar", _BAR_FILES_OF_KIND))])


def text_score(text: str, words: InjectionWords, model: WindowModel) -> float:
    """The log odds of what detectors look at in a text, from the network's floor on: infinitely low below it, infinite
    where signs count alone."""
    one = look(text, words, Budget(_PATIENT))
    if any(seen.log_odds > SIGNS_ALONE for seen in one.seen):
        return math.inf
    over = 0.0 if model.network is None else model.network.floor
    return max((window.log_odds for window in _windows(text, words, model, over)), default=-math.inf)


def _windows(text: str, words: InjectionWords, model: WindowModel, over: float) -> Iterator[Window]:
    one = look(text, words, Budget(_PATIENT))
    return likely_windows(one.lined, one.hits, one.sightings, model, Budget(_PATIENT), over)


def _mined_texts(mining: Round) -> Iterator[tuple[str, str]]:
    """(kind, text)"""
    for one in chosen_files("mined", mining.files_of_kind, of_package=_MINED_FILES_OF_PACKAGE):
        yield one.kind, _text_of(one)[: mining.characters]
    yield from ((_PIECES, text) for _, text in clean_texts())


def _text_of(file: RealFile) -> str:
    """What detectors look at, decoded."""
    read = read_file(file.path)
    answer: JsonObject = {"answer": {"status": 200}}
    if not read.attachments:
        answer["body"] = read.body
    return document_of(answer, Budget(_PATIENT), read.attachments).buffer().decode("utf-8", "replace")
