"""Content types: one reading, or refused."""

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.content_type import read_content_type


@pytest.mark.parametrize(
    ("written", "media_type", "charset", "boundary"),
    [
        ("application/json", "application/json", "", ""),
        (" Application/JSON ;charset=UTF-8", "application/json", "utf-8", ""),
        ('text/plain; charset="utf-8"; format=flowed;', "text/plain", "utf-8", ""),
        ("multipart/form-data; Boundary=aB", "multipart/form-data", "", "aB"),
        ('multipart/form-data; boundary="a=b"', "multipart/form-data", "", "a=b"),
        ("", "", "", ""),
    ],
)
def test_what_all_servers_read_alike(written: str, media_type: str, charset: str, boundary: str) -> None:
    read = read_content_type(written)
    assert (read.media_type, read.charset, read.boundary) == (media_type, charset, boundary)


@pytest.mark.parametrize(
    "written",
    [
        "application/json, text/plain",
        "application/json; charset=utf-8, text/plain",
        "application/json text/plain",
        "json",
        "application/json; charset",
        "application/json; charset=utf-8; charset=utf-16",
        "application/json; charset=",
        "multipart/form-data; boundary=a; Boundary=b",
        "multipart/form-data; boundary=a; boundary*=b",
        'multipart/form-data; boundary="a\\"b"',
        'multipart/form-data; boundary="a"b',
        'multipart/form-data; boundary="a',
        "text/plain; charset = utf-8",
        "text/plain; charset=é",
    ],
)
def test_what_servers_read_differently_is_refused(written: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_content_type(written)
