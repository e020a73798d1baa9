"""Multipart bodies: read strictly, and digested without their boundary."""

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.multipart import boundary_of, covered_digest, read_part, split_pieces, without_boundary

_FIELD = b'Content-Disposition: form-data; name="a"\r\n\r\n1'
_FILE = b'Content-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: image/png\r\n\r\n\x89\xff'


def _body(boundary: bytes, *pieces: bytes) -> bytes:
    return b"".join(b"--" + boundary + b"\r\n" + piece + b"\r\n" for piece in pieces) + b"--" + boundary + b"--\r\n"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('multipart/form-data; boundary="a b"', "a b"),
        ("multipart/form-data; charset=utf-8; Boundary=abc", "abc"),
    ],
)
def test_boundaries(content_type: str, expected: str) -> None:
    assert boundary_of(content_type) == expected
    assert expected not in without_boundary(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=a; boundary*=b",
        f'multipart/form-data; boundary="{"x" * 71}"',
    ],
)
def test_ambiguous_boundaries_are_refused(content_type: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        boundary_of(content_type)


def test_parts() -> None:
    field, file = (read_part(piece) for piece in split_pieces(_body(b"x", _FIELD, _FILE), "x"))
    assert (field.name, field.filename, field.as_json()) == ("a", None, "1")
    assert file.as_json() == {
        "filename": "x.bin",
        "content_type": "image/png",
        "size": 2,
        "sha256": file.sha256,
    }
    assert file.sha256.startswith("sha256:")


def test_the_digest_does_not_depend_on_the_boundary() -> None:
    one, other = _body(b"one", _FIELD, _FILE), _body(b"another", _FIELD, _FILE)
    assert covered_digest(split_pieces(one, "one")) == covered_digest(split_pieces(other, "another"))


def test_a_piece_that_contains_a_boundary_is_not_two_pieces() -> None:
    """The attack: approve one part that holds the other boundary, send it with that boundary as two."""
    inner = _FIELD + b"\r\n--b\r\n" + _FILE
    one_part = split_pieces(_body(b"a", inner), "a")
    two_parts = split_pieces(_body(b"b", _FIELD, _FILE), "b")
    assert covered_digest(one_part) != covered_digest(two_parts)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"preamble\r\n" + _body(b"x", _FIELD),
        _body(b"x", _FIELD) + b"epilogue",
        _body(b"x", _FIELD)[:-4],
        _body(b"y", _FIELD),
        b"--x--\r\n",
        _body(b"x", _FIELD + b"\r\n--xy"),
        b"".join([_body(b"x", *[_FIELD] * 1001)]),
    ],
)
def test_ambiguous_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        split_pieces(body, "x")


@pytest.mark.parametrize(
    "piece",
    [
        b"",
        b"1",
        b"\r\n\r\n1",
        b"Content-Type: text/plain\r\n\r\n1",
        b'Content-Disposition: attachment; name="a"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"; name="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a";\r\n filename="b"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a\\"b"\r\n\r\n1',
        b"Content-Disposition: form-data; name=\"a\"; filename*=utf-8''b\r\n\r\n1",
        b'Content-Disposition: form-data; name="\xff"\r\n\r\n1',
        b'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64\r\n\r\nMQ==',
        b'Content-Disposition : form-data; name="a"\r\n\r\n1',
    ],
)
def test_ambiguous_parts_are_refused(piece: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_part(piece)
