"""A message of Protocol Buffers without its definition, as JSON by the numbers of its fields.

A field is the list of all its occurrences, in order: servers take the last of a number and join those of a message, so
that a policy has to see them all. One occurrence, by its wire type:

- a varint: the unsigned number; -1 of ``int32`` and ``int64`` is 18446744073709551615
- 32 and 64 bits: ``{"fixed32": n, "float": x}``, ``{"fixed64": n, "double": x}``; a text where JSON has no number
- bytes: ``text`` where they are UTF-8, and ``message`` where they are a message: the bytes do not tell which was meant,
  and a sender could choose what a guess makes of them. Without a text, ``size`` and ``sha256``. The list of a packed
  field is bytes
- a group: ``{"group": {…}}``
"""

import math
import struct
from collections.abc import Callable
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue, sha256_hex
from headgate.protocols.protobuf_wire import (
    Field,
    FieldBudget,
    Unread,
    UnreadableError,
    WireType,
    read_fields,
)

TEXT_BYTES_MAX: Final = 8 << 20
"""Of all texts of one call. A text in a message that is a text itself counts twice."""

type Place = tuple[str | int, ...]
type OnBytes = Callable[[Place, bytes], None]


class NumberReader:
    """Reads the messages of one call. ``on_bytes`` is told of bytes that are neither text nor message."""

    def __init__(self, on_bytes: OnBytes | None = None) -> None:
        self.budget = FieldBudget()
        self._text_bytes_left = TEXT_BYTES_MAX
        self._on_bytes = on_bytes

    def read(self, data: bytes, place: Place = ()) -> JsonObject:
        """Raises UnreadableError."""
        return self.of_fields(read_fields(data, self.budget), place, 0)

    def of_fields(self, fields: list[Field], place: Place, depth: int) -> JsonObject:
        """``depth``: of the message that holds them."""
        found: JsonObject = {}
        for field in fields:
            name = str(field.number)
            values = found.setdefault(name, [])
            assert isinstance(values, list)  # noqa: S101 - put there above
            value = field.value
            if field.wire_type is WireType.VARINT:
                assert isinstance(value, int)  # noqa: S101 - read so
                values.append(value)
            else:
                values.append(self._occurrence(field, (*place, name, len(values)), depth))
        return found

    def _occurrence(self, field: Field, place: Place, depth: int) -> JsonValue:
        value = field.value
        if isinstance(value, list):
            return {"group": self.of_fields(value, (*place, "group"), depth + 1)}
        if isinstance(value, bytes):
            return self._of_bytes(value, place, depth)
        if field.wire_type is WireType.FIXED64:
            return {"fixed64": value, "double": number_of("<d", value.to_bytes(8, "little"))}
        if field.wire_type is WireType.FIXED32:
            return {"fixed32": value, "float": number_of("<f", value.to_bytes(4, "little"))}
        return value

    def _of_bytes(self, data: bytes, place: Place, depth: int) -> JsonObject:
        found: JsonObject = {}
        try:
            found["text"] = data.decode()
        except UnicodeDecodeError:
            found["size"], found["sha256"] = len(data), sha256_hex(data)
        else:
            self._text_bytes_left -= len(data)
            if self._text_bytes_left < 0:
                raise UnreadableError(Unread.TOO_LARGE)
        try:
            fields = read_fields(data, self.budget, depth + 1)
        except UnreadableError as error:
            if error.reason is not Unread.INVALID:
                raise
        else:
            found["message"] = self.of_fields(fields, (*place, "message"), depth + 1)
        if self._on_bytes is not None and not ("text" in found or "message" in found):
            self._on_bytes(place, data)
        return found


def number_of(form: str, data: bytes) -> float | str:
    """A float as JSON; what JSON has no number for as proto3's JSON writes it."""
    value: float = struct.unpack(form, data)[0]
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
