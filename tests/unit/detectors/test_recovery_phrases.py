"""Recovery phrases in every way in which people write them down, and sentences that are none."""

import base64
import codecs
from typing import Any

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.limits import Budget, Limits
from headgate.detectors.model import GapReason
from headgate.detectors.recovery_phrases import find_recovery_phrases

_WORDS = ["orbit", "crash", "office", "enter", "proof", "picnic", "bundle", "still", "post", "skull", "vacuum", "until"]


@pytest.mark.parametrize(
    "text",
    [
        " ".join(_WORDS),
        "My words are " + " ".join(_WORDS) + ", please restore it",
        "+".join(_WORDS),
        "legal, winner, thank, year, wave, sausage, worth, useful, legal, winner, thank, yellow",  # of BIP 39's vectors
        "\n".join(f"{number}. {word}" for number, word in enumerate(_WORDS, 1)),
        " ".join(word.upper() for word in _WORDS),
        base64.b64encode(" ".join(_WORDS).encode()).decode(),
        " ".join(_WORDS * 2),
        " ".join(_WORDS)[::-1],
        codecs.encode(" ".join(_WORDS), "rot13"),
    ],
)
def test_a_phrase_is_found(text: str) -> None:
    assert assess(EmbeddedModel.SECRETS, {"t": text}).issues == ("recovery_phrase",)


@pytest.mark.parametrize(
    "text",
    [
        " ".join(_WORDS[:11]),
        " ".join([*_WORDS[:6], "zebras", *_WORDS[6:]]),
        "Please review this before they arrive, since every member must have their own ticket ready and paid.",
        " ".join(["post"] * 30),
        ", ".join([*_WORDS[:-1], "zoo"]),
        "account;address;amount;balance;category;city;country;code;ticket;tag;type;owner",
        "animal baby beach bird book bread car cat chair child city cloud coffee",
        "\0".join(_WORDS),
    ],
)
def test_what_is_no_phrase_is_not(text: str) -> None:
    assert assess(EmbeddedModel.SECRETS, {"t": text}).issues == ()


@pytest.mark.parametrize(
    "value",
    [
        {"list": list(_WORDS)},
        {"list": [{"n": number, "w": word} for number, word in enumerate(reversed(_WORDS), 1)], "title": "shopping"},
        {"list": [{"n": str(number), "w": word} for number, word in enumerate(_WORDS, 1)]},
        {f"word_{number}": word for number, word in enumerate(_WORDS, 1)},
        [["a", word] for word in _WORDS],
    ],
)
def test_words_in_a_list_are_found(value: Any) -> None:
    assert assess(EmbeddedModel.SECRETS, {"body": value}).issues == ("recovery_phrase",)


_SPANISH = ["lunes", "coger", "etnia", "interés", "causa", "mente", "sirena", "vale", "acuerdo", "nácar", "rabo", "tos"]
_NUMBERED = "\n".join(f"{number}. {word}" for number, word in enumerate(_SPANISH, 1))


def test_a_numbered_list_in_another_language_is_found_near_a_word_for_it() -> None:
    assert assess(EmbeddedModel.SECRETS, {"t": f"la frase de recuperaci\u00f3n:\n{_NUMBERED}"}).issues == (
        "recovery_phrase",
    )
    assert assess(EmbeddedModel.SECRETS, {"host": "trustwallet-help.example", "t": _NUMBERED}).issues
    assert assess(
        EmbeddedModel.SECRETS, {"host": "trustwallet.example", "data": base64.b64encode(_NUMBERED.encode()).decode()}
    ).issues
    assert not assess(EmbeddedModel.SECRETS, {"t": f"Forma una frase con cada palabra:\n{_NUMBERED}"}).issues


@pytest.mark.parametrize(
    "value",
    [
        {"list": sorted(_WORDS)},
        {"list": _WORDS[:11]},
        {"list": [*_WORDS[:6], "checkout", *_WORDS[6:]]},
        {
            "tags": [
                "python",
                "async",
                "proxy",
                "office",
                "bundle",
                "still",
                "gateway",
                "post",
                "agent",
                "enter",
                "proof",
                "rust",
            ]
        },
        {"steps": [{"name": word, "type": kind} for word, kind in zip(_WORDS[:8], ["run"] * 8, strict=True)]},
        {"weekdays": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] * 3},
    ],
)
def test_lists_of_other_words_are_no_phrases(value: Any) -> None:
    assert not assess(EmbeddedModel.SECRETS, {"body": value}).issues


def test_a_long_run_of_words_ends_with_the_time_of_the_inspection() -> None:
    hours = iter(range(0, 3600 * 10_000, 3600))
    budget = Budget(Limits(), clock=lambda: float(next(hours)))
    assert [*find_recovery_phrases(b"private key " * 5_000, budget)] == []
    assert GapReason.TIME in budget.gaps
