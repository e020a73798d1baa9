"""Streams behind one another: all are read, up to a number."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable

import pytest
from regorus import container_of

from headgate.detectors.containers import MEMBERS_MAX, members

_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("name", _COMPRESS)
def test_all_streams_are_read(name: str) -> None:
    data = b"".join(_COMPRESS[name](piece) for piece in (b"sec", b"", b"ret"))
    assert container_of(data) == name
    assert [(one.data, one.is_whole) for one in members(name, data, 1000)] == [(b"secret", True)]


@pytest.mark.parametrize("name", _COMPRESS)
def test_more_streams_than_a_number_are_not_whole(name: str) -> None:
    """Each copies all that follows it, and an empty one counts against no size: the time grew with the square."""
    data = _COMPRESS[name](b"") * (MEMBERS_MAX + 1) + _COMPRESS[name](b"secret")
    assert [(one.data, one.is_whole) for one in members(name, data, 1000)] == [(b"", False)]
