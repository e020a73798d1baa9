"""Canaries are found in what a call decodes to, and in its bytes."""

import base64
import gzip
import json
from urllib.parse import quote

import pytest

from headgate.canaries.model import CanarySet, canary_set
from headgate.canaries.scan import AS_SENT, find_canaries
from headgate.detectors.document import Attachment
from tests.unit.canaries.tokens import FIRST, KEY, canary_of

TEXT = f"the key is {FIRST}, keep it"


@pytest.fixture(scope="module")
def canaries() -> CanarySet:
    return canary_set(KEY, [canary_of("first", FIRST)])


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        base64.b64encode(TEXT.encode()).decode(),
        base64.b64encode(base64.b64encode(TEXT.encode())).decode(),
        TEXT.encode().hex(),
        quote(base64.urlsafe_b64encode(TEXT.encode()).decode()),
        "".join(f"%{byte:02x}" for byte in FIRST.encode()),
        "".join(f"\\u{ord(one):04x}" for one in FIRST),
        json.dumps({"inner": json.dumps({"k": FIRST})}),
        "".join(f"&#{ord(one)};" for one in FIRST),
    ],
    ids=["plain", "base64", "twice", "hex", "in a URL", "percent", "escapes", "JSON", "entities"],
)
def test_encodings(canaries: CanarySet, text: str) -> None:
    [found] = find_canaries(canaries, {"body": {"note": text}}, (), ())
    assert (found.canary_id, found.name) == ("can_first", "first")
    assert found.place.startswith("$.body.note")


def test_an_archive_and_the_bytes_as_sent(canaries: CanarySet) -> None:
    packed = Attachment(("body",), gzip.compress(TEXT.encode()))
    assert [one.name for one in find_canaries(canaries, {}, [packed], ())] == ["first"]
    [found] = find_canaries(canaries, {}, (), [b"x", FIRST.encode()])
    assert found.place == AS_SENT


def test_a_member_name(canaries: CanarySet) -> None:
    assert find_canaries(canaries, {"body": {FIRST: 1}}, (), ())


def test_nothing(canaries: CanarySet) -> None:
    assert find_canaries(canaries, {"body": {"note": "the key is lost", "n": 5}}, (), [b"nothing"]) == []
