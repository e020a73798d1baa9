"""Addresses of keys: those of cosign, and none that names a server or holds a credential."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.kms.key_address import AwsKey, KeyAddress, TransitKey, parse_key_address

_ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"awskms:///{_ARN}", AwsKey(_ARN, "eu-central-1")),
        ("awskms:///alias/headgate", AwsKey("alias/headgate", None)),
        ("awskms:///alias/headgate?region=us-gov-west-1", AwsKey("alias/headgate", "us-gov-west-1")),
        ("awskms:///1234abcd-12ab-34cd-56ef-1234567890ab", AwsKey("1234abcd-12ab-34cd-56ef-1234567890ab", None)),
        ("hashivault://headgate", TransitKey("headgate")),
        ("hashivault://headgate?version=12", TransitKey("headgate", 12)),
    ],
)
def test_an_address_is_read_and_written(text: str, key: KeyAddress) -> None:
    assert parse_key_address(text) == key
    assert str(key) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "headgate",
        "gcpkms://projects/p",
        "awskms:///",
        "awskms:///alias/a b",
        "awskms:///alias/a?region=evil.example/",
        "awskms:///arn:aws:kms:evil.example:1:key/a",
        "awskms:///alias/a?endpoint=evil.example",
        "awskms:///alias/a#b",
        "awskms://evil.example/alias/a",
        "hashivault://",
        "hashivault://a/b",
        "hashivault://..",
        "hashivault://a:8200",
        "hashivault://token@a",
        "hashivault://a?version=0",
        "hashivault://a?mount=b",
        "hashivault://[",
    ],
)
def test_what_is_no_address_of_a_key_is_refused(text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_key_address(text)
    assert "awskms:///" in refused.value.message
    assert "evil" not in refused.value.message
