"""Recovery phrases in every way in which people write them down, and sentences that are none."""

import base64

import pytest

from headgate.detectors.assess import EmbeddedModel, assess

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
