"""What is encoded is found, and a finding says how it was reached."""

import base64
import gzip
import json
from urllib.parse import quote

import pytest

from headgate.detectors.inspect import inspect
from headgate.detectors.personal_data import find_personal_data
from headgate.kernel.canonical_json import JsonValue

_MAIL = "maria.keller@example.com"


def _places(value: JsonValue) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.place.path, one.place.steps) for one in inspect(value, [find_personal_data]).findings]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (_MAIL, ()),
        (quote(f"to={_MAIL}", safe=""), ("url",)),
        (quote(quote(f"to={_MAIL}", safe=""), safe=""), ("url", "url")),
        (_encoded(f"mail to {_MAIL}"), ("base64",)),
        (base64.urlsafe_b64encode(f"???>>> {_MAIL}".encode()).decode().rstrip("="), ("base64",)),
        (_encoded(_encoded(f"mail to {_MAIL}")), ("base64", "base64")),
        (f"mail {_MAIL}".encode().hex(), ("hex",)),
        ("0x" + f"mail {_MAIL}".encode().hex(), ("hex",)),
        (base64.b64encode(gzip.compress(_MAIL.encode(), mtime=0)).decode(), ("base64", "gzip")),
        (base64.b64encode(f"mail {_MAIL}".encode("utf-16-le")).decode(), ("base64",)),
        (json.dumps({"to": [_MAIL]}), ("json:$.to[0]",)),
        (_encoded(json.dumps({"to": _MAIL})), ("base64", "json:$.to")),
        ("".join(f"\\u{ord(one):04x}" for one in _MAIL), ("escapes",)),
        ("".join(f"\\x{ord(one):02x}" for one in _MAIL), ("escapes",)),
        ("\u200b".join(_MAIL), ("unicode",)),
        ("\u202e" + _MAIL, ("unicode",)),
        ("".join(chr(0xE0000 + ord(one)) for one in _MAIL), ("unicode",)),
        ("\U000e0100".join(_MAIL), ("unicode",)),  # of the second block of variation selectors
        ("maria.keller\uff20example.com", ("unicode",)),
        ("/files/" + _encoded(f"mail to {_MAIL}!!").rstrip("="), ("base64",)),
    ],
)  # fmt: skip
def test_a_mail_address_is_found_however_it_is_written(text: str, steps: tuple[str, ...]) -> None:
    assert _places(text) == [("$", steps)]


def test_the_path_inside_json_is_the_way_to_the_value() -> None:
    value: JsonValue = {"a": [{"b c": f"x {_MAIL}"}, "nothing"], "to@x": {"to": _MAIL}}

    assert _places(value) == [("$.a[0]['b c']", ()), ("$['… (4 characters)'].to", ())]


def test_a_members_name_is_looked_at_too_and_not_shown() -> None:
    [finding] = inspect({_MAIL: {"seen": True}}, [find_personal_data]).findings

    assert (finding.place.path, finding.place.offset) == ("$['mar… (24 characters)']", None)


def test_the_offset_counts_characters() -> None:
    [finding] = inspect(f"Grüße an {_MAIL}", [find_personal_data]).findings

    assert finding.place.offset == len("Grüße an ")


def test_a_sample_does_not_show_what_was_found() -> None:
    [finding] = inspect(f"an {_MAIL}", [find_personal_data]).findings

    assert finding.sample == "mar… (24 characters)"


def test_a_name_says_what_its_number_is() -> None:
    value: JsonValue = {"dateOfBirth": "1980-02-03", "phone": {"number": "0301234567"}, "created": "2020-02-03"}

    assert inspect(value, [find_personal_data]).kinds == ("date_of_birth", "phone")
