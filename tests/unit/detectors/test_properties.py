"""Whatever is inspected, an inspection ends, says where, shows nothing, and masks what it finds."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.detectors.injection import find_injections
from headgate.detectors.inspect import inspect
from headgate.detectors.keywords import parse_keywords
from headgate.detectors.limits import Limits
from headgate.detectors.mask import mask_secrets
from headgate.detectors.personal_data import find_personal_data
from headgate.detectors.phrases import find_intent, find_unsafe
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from tests.labelled import credentials, persons

_ALL = [find_secrets, find_personal_data, find_intent, find_injections, find_unsafe, parse_keywords("x\nfalcon").find]
_LIMITS = Limits(seconds_max=30)

# Pieces that steps of an inspection react to, so that random texts get anywhere at all.
_PIECES = st.sampled_from(
    [
        "%41", "%", "\\u0041", "\\ud83d", '\\"', "\\x41", "{", '{"a":', "[1000000", "]", "}",
        "aGVsbG8gd29ybGQgYWdhaW4=", "H4sIAAAA", "68656c6c6f20776f726c64", "0x",
        "password=", "token: ", "://", "@", "tel ", "+49 30 ", "born ", "1.2.1980", "DE89 3704 0044",
        "4111 1111 1111 1111", "-----BEGIN PRIVATE KEY-----", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "basic ", "ssn ",
        "\x00", "\u200b", "\u0301", "\ufdfa", "\ud800", "\U000e0041", "\u0663", "ignore previous ",
        "x", " ", "\n", ".", "-",
    ]
)  # fmt: skip
_TEXTS = st.lists(_PIECES | st.text(max_size=6) | st.characters(), max_size=30).map("".join)
_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=8,
)
_SEEDS = st.integers(0, 2**32)
_PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=12)


@settings(max_examples=400, deadline=None)
@given(_VALUES)
def test_any_value_is_inspected(value: JsonValue) -> None:
    result = inspect(value, _ALL, _LIMITS)

    for finding in result.findings:
        assert finding.place.path.startswith("$")
        assert 0 < finding.confidence <= 1
        canonical_bytes(finding.record())


@settings(max_examples=150, deadline=None)
@given(_PRINTABLE, _PRINTABLE, _SEEDS, st.sampled_from(["github", "gitlab", "stripe", "npm"]))
def test_a_credential_is_found_in_any_surroundings_and_then_masked(before, after, seed, kind) -> None:
    secret = credentials.LABELLED[kind](random.Random(seed))  # noqa: S311 - repeatable, not secret
    value: JsonValue = {"a": [f"{before} {secret} {after}"]}

    assert inspect(value, [find_secrets], _LIMITS).findings
    masked, gaps = mask_secrets(value, _LIMITS)
    assert not gaps
    assert secret not in canonical_bytes(masked).decode()


@settings(max_examples=150, deadline=None)
@given(_PRINTABLE, _PRINTABLE, _SEEDS, st.sampled_from(["iban", "us_ssn", "email"]))
def test_personal_data_is_found_in_any_surroundings(before, after, seed, kind) -> None:
    value = persons.LABELLED[kind](random.Random(seed))  # noqa: S311 - repeatable, not secret
    text = f"{before}\n{value}\n{after}"
    found = inspect(text, [find_personal_data], _LIMITS)

    # What stands before may make it another kind ("mobil" before nine digits): that is found as well, at its place.
    assert kind in found.kinds or len(before) + 1 in [finding.place.offset for finding in found.findings]
