"""Credentials are taken out before somebody else is shown a value, wherever and however they stand in it."""

import base64
import json
import random

from headgate.detectors.limits import Limits
from headgate.detectors.mask import mask_secrets
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.secrets import MASK
from tests.labelled import credentials

_TOKEN = credentials.gitlab(random.Random(1))  # noqa: S311 - repeatable, not secret


def test_a_credential_is_masked_where_it_stands() -> None:
    value: JsonValue = {"a": [f"Grüße, use {_TOKEN} please", 5], "b": {"password": "Xk9#mmQ2vv"}, "c": "fine"}

    assert mask_secrets(value) == ({"a": [f"Grüße, use {MASK} please", 5], "b": {"password": MASK}, "c": "fine"}, ())


def test_what_holds_one_when_decoded_is_masked_whole() -> None:
    encoded = base64.b64encode(f"token {_TOKEN}".encode()).decode()
    value: JsonValue = {"a": f"see {encoded}", "b": json.dumps({"t": _TOKEN}), "c": "\u200b".join(_TOKEN)}

    assert mask_secrets(value)[0] == {"a": MASK, "b": MASK, "c": MASK}


def test_a_name_that_is_one_is_masked_too() -> None:
    masked, _ = mask_secrets({"x": {_TOKEN: 1}})

    assert _TOKEN not in json.dumps(masked)


def test_a_bare_text_is_masked() -> None:
    assert mask_secrets(f"{_TOKEN}!")[0] == f"{MASK}!"


def test_what_was_not_looked_at_is_said() -> None:
    assert mask_secrets("x" * 3000, Limits(input_bytes_max=1000))[1]
