"""Where matches stand in their texts, and what it takes to say so."""

from typing import SupportsIndex, overload

from headgate.detectors.decode import document_of
from headgate.detectors.document import Places
from headgate.detectors.limits import DEFAULT_LIMITS, Budget


class _Counted(bytes):
    """Counts the bytes that are copied out of it."""

    copied = 0

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> int | bytes:
        if isinstance(key, slice):
            self.copied += len(range(*key.indices(len(self))))
        return super().__getitem__(key)


def test_the_characters_of_a_text_are_counted_once_for_all_its_matches() -> None:
    document = document_of({"a": "é and x " * 2_000, "b": "y and x " * 2_000}, Budget(DEFAULT_LIMITS))
    buffer = _Counted(document.buffer())
    places = Places(document, buffer)
    starts = [at for at in range(len(buffer)) if buffer[at] == ord("x")]
    found = [places.of(start) for start in starts]
    assert [one.path for one in found] == ["$.a"] * 2_000 + ["$.b"] * 2_000
    assert [one.offset for one in found] == [*range(6, 16_000, 8)] * 2
    assert buffer.copied <= len(buffer)
