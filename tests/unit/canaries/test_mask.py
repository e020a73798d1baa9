"""The record of a call that held a canary does not show its value, plain or encoded."""

import base64
import json
from urllib.parse import quote

import pytest

from headgate.canaries.mask import NOTHING_SHOWN, mask_canaries
from headgate.canaries.model import CanarySet, canary_set
from headgate.canaries.scan import find_canaries
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.secrets import MASK
from tests.unit.canaries.tokens import FIRST, KEY, SECOND, canary_of

TEXT = f"the key is {FIRST}, keep it"
ENCODED = base64.b64encode(TEXT.encode()).decode()


@pytest.fixture(scope="module")
def canaries() -> CanarySet:
    return canary_set(KEY, [canary_of("first", FIRST), canary_of("second", SECOND)])


def _masked(canaries: CanarySet, value: JsonObject) -> JsonValue:
    masked = mask_canaries(canaries, canonical_bytes(value))
    shown = parse_strict(masked)
    assert canonical_bytes(shown) == masked
    assert find_canaries(canaries, shown, (), [masked]) == []
    return shown


def test_only_the_value_is_masked_where_it_stands_as_such(canaries: CanarySet) -> None:
    value: JsonObject = {
        "http": {"host": "a.example", "path": f"/x/{FIRST.upper()}", "query": {"q": [f"{FIRST} and {SECOND}", FIRST]}},
        "params": {"inner": json.dumps({"k": f'"{FIRST}"'}), "n": 5},
    }
    assert _masked(canaries, value) == {
        "http": {"host": "a.example", "path": f"/x/{MASK}", "query": {"q": [f"{MASK} and {MASK}", MASK]}},
        "params": {"inner": json.dumps({"k": f'"{MASK}"'}), "n": 5},
    }


@pytest.mark.parametrize(
    "text",
    [
        ENCODED,
        base64.b64encode(ENCODED.encode()).decode(),
        TEXT.encode().hex(),
        quote(base64.urlsafe_b64encode(TEXT.encode()).decode()),
        "".join(f"&#{ord(one)};" for one in FIRST),
        json.dumps({"inner": ENCODED}),
    ],
    ids=["base64", "twice", "hex", "in a URL", "entities", "in JSON"],
)
def test_a_text_that_decodes_to_it_is_masked_as_a_whole(canaries: CanarySet, text: str) -> None:
    value: JsonObject = {"params": {"notes": ["first", f"see {text}", text]}, "effect": "write"}
    assert _masked(canaries, value) == {"params": {"notes": ["first", MASK, MASK]}, "effect": "write"}


def test_names(canaries: CanarySet) -> None:
    assert _masked(canaries, {"params": {f"a {FIRST}": 1, "b": 2}}) == {"params": {f"a {MASK}": 1, "b": 2}}


def test_what_cannot_be_masked_member_by_member_is_not_recorded(canaries: CanarySet) -> None:
    same: JsonObject = {"params": {FIRST: 1, SECOND: 2}}
    many: JsonObject = {"params": {"text": FIRST[:4] * 20_001}}
    for value in (same, many):
        assert mask_canaries(canaries, canonical_bytes(value)) == NOTHING_SHOWN


def test_nothing_to_mask(canaries: CanarySet) -> None:
    request = canonical_bytes({"params": {"text": "nothing"}})
    assert mask_canaries(canaries, request) == request
