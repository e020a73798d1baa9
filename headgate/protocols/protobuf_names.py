"""A message of Protocol Buffers by its definition, as JSON by the names of its fields (the JSON of proto3).

Fields without presence have their default where they were not sent, so that a policy sees 0 and "" whichever way they
were meant. Well-known types are shown as the messages that they are. What servers could read in another way does not
fit, and is then shown by numbers: a field that is there twice without being a list, two members of one ``oneof``, a
number that its type would cut, a text that is not UTF-8, and another wire type than the definition's.
"""

import base64
import struct
from enum import StrEnum
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.protocols.protobuf_definitions import (
    ANY_MESSAGE,
    UNKNOWN,
    Definitions,
    FieldDefinition,
    Kind,
    MessageDefinition,
)
from headgate.protocols.protobuf_numbers import NumberReader, Place, number_of
from headgate.protocols.protobuf_wire import Field, Unread, UnreadableError, WireType, read_fields, read_varint

_ANY: Final = "google.protobuf.Any"
_FIXED: Final = {
    Kind.FIXED32: (WireType.FIXED32, "<I"),
    Kind.SFIXED32: (WireType.FIXED32, "<i"),
    Kind.FLOAT: (WireType.FIXED32, "<f"),
    Kind.FIXED64: (WireType.FIXED64, "<Q"),
    Kind.SFIXED64: (WireType.FIXED64, "<q"),
    Kind.DOUBLE: (WireType.FIXED64, "<d"),
}
_AS_TEXT: Final = frozenset({Kind.INT64, Kind.UINT64, Kind.SINT64, Kind.FIXED64, Kind.SFIXED64})
"""64 bits, which JSON's numbers do not hold everywhere."""
_BYTES: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.MESSAGE})
_SHORTEST_DIGITS: Final = range(6, 10)


class Misfit(StrEnum):
    """Why a message is not what its definition says; policies see it as ``input.grpc.misfit``."""

    METHOD = "method"
    """The definitions lack it."""
    WIRE_TYPE = "wire_type"
    REPEATED = "repeated"
    RANGE = "range"
    UTF8 = "utf8"
    INVALID = "invalid"
    """Bytes that should be a message, or a packed list, and are none."""


class MisfitError(Exception):
    def __init__(self, reason: Misfit) -> None:
        super().__init__(reason.value)
        self.reason = reason


class NameReader:
    """Reads the messages of one call. ``numbers`` reads what the definitions lack, within the same bounds."""

    def __init__(self, definitions: Definitions, numbers: NumberReader) -> None:
        self._definitions = definitions
        self._numbers = numbers
        self.has_unknown = False

    def read(self, data: bytes, type_name: str, place: Place) -> JsonObject:
        """Raises MisfitError; UnreadableError beyond the bounds, and of what is no message at all."""
        return self._message(read_fields(data, self._numbers.budget), self._definitions.messages[type_name], place, 0)

    def _message(self, fields: list[Field], message: MessageDefinition, place: Place, depth: int) -> JsonObject:
        found: JsonObject = {}
        for definition in message.fields.values():
            if definition.has_default:
                self._numbers.budget.take()
                found[definition.name] = self._default(definition)
        sent: set[str] = set()
        unknown: list[Field] = []
        for field in fields:
            one = message.fields.get(field.number)
            if one is None:
                unknown.append(field)
                continue
            if one.is_repeated:
                self._add(found, one, field, place, depth)
                continue
            names = {one.name} if one.oneof is None else {one.name, f"@oneof {one.oneof}"}
            if sent & names:
                raise MisfitError(Misfit.REPEATED)
            sent |= names
            found[one.name] = self._value(field, one, (*place, one.name), depth)
        if unknown:
            self.has_unknown = True
            found[UNKNOWN] = self._numbers.of_fields(unknown, (*place, UNKNOWN), depth)
        if message.name == _ANY:
            self._unpack(found, fields, place, depth)
        return found

    def _default(self, definition: FieldDefinition) -> JsonValue:
        if definition.is_repeated:
            return {} if self._is_map(definition) else []
        if definition.kind is Kind.BOOL:
            return False
        if definition.kind in (Kind.STRING, Kind.BYTES):
            return ""
        return _shown(0, definition.kind) if definition.kind is not Kind.ENUM else self._enum(0, definition)

    def _is_map(self, definition: FieldDefinition) -> bool:
        return definition.kind is Kind.MESSAGE and self._definitions.messages[definition.type_name].is_map_entry

    def _add(self, found: JsonObject, one: FieldDefinition, field: Field, place: Place, depth: int) -> None:
        values = found[one.name]
        if isinstance(values, dict):
            entry = self._value(field, one, (*place, one.name), depth)
            assert isinstance(entry, dict)  # noqa: S101 - a map's entry is a message
            key, value = self._entry(entry, self._definitions.messages[one.type_name])
            if key in values:
                raise MisfitError(Misfit.REPEATED)
            values[key] = value
        elif isinstance(values, list):
            if field.wire_type is WireType.BYTES and one.kind not in _BYTES:
                values.extend(self._packed(field.value, one))
            else:
                values.append(self._value(field, one, (*place, one.name, len(values)), depth))

    def _entry(self, entry: JsonObject, message: MessageDefinition) -> tuple[str, JsonValue]:
        """Key and value have their defaults in the syntax of before, too."""
        key, value = message.fields[1], message.fields[2]
        shown = entry.get(key.name, self._default(key))
        if isinstance(shown, bool):
            shown = "true" if shown else "false"
        if UNKNOWN in entry:
            raise MisfitError(Misfit.WIRE_TYPE)
        is_message = value.kind is Kind.MESSAGE
        missing: JsonValue = (
            self._message([], self._definitions.messages[value.type_name], (), 0)
            if is_message
            else self._default(value)
        )
        return str(shown), entry.get(value.name, missing)

    def _packed(self, data: object, one: FieldDefinition) -> list[JsonValue]:
        if not isinstance(data, bytes) or one.kind is Kind.GROUP:
            raise MisfitError(Misfit.WIRE_TYPE)
        fixed = _FIXED.get(one.kind)
        values: list[JsonValue] = []
        at = 0
        try:
            while at < len(data):
                self._numbers.budget.take()
                if fixed is None:
                    value, at = read_varint(data, at)
                    values.append(self._of_varint(value, one))
                else:
                    size = struct.calcsize(fixed[1])
                    values.append(_of_fixed(data[at : at + size], one.kind, fixed[1]))
                    at += size
        except (UnreadableError, struct.error) as error:
            if isinstance(error, UnreadableError) and error.reason is not Unread.INVALID:
                raise
            raise MisfitError(Misfit.INVALID) from error
        return values

    def _value(self, field: Field, one: FieldDefinition, place: Place, depth: int) -> JsonValue:
        value, kind = field.value, one.kind
        if isinstance(value, list):
            if kind is not Kind.GROUP:
                raise MisfitError(Misfit.WIRE_TYPE)
            return self._message(value, self._definitions.messages[one.type_name], place, depth + 1)
        if isinstance(value, bytes):
            return self._of_bytes(value, one, place, depth)
        fixed = _FIXED.get(kind)
        if fixed is not None:
            if field.wire_type is not fixed[0]:
                raise MisfitError(Misfit.WIRE_TYPE)
            return _of_fixed(value.to_bytes(struct.calcsize(fixed[1]), "little"), kind, fixed[1])
        if field.wire_type is not WireType.VARINT or kind in _BYTES or kind is Kind.GROUP:
            raise MisfitError(Misfit.WIRE_TYPE)
        return self._of_varint(value, one)

    def _of_bytes(self, data: bytes, one: FieldDefinition, place: Place, depth: int) -> JsonValue:
        if one.kind is Kind.BYTES:
            return base64.b64encode(data).decode("ascii")
        if one.kind is Kind.STRING:
            try:
                return data.decode()
            except UnicodeDecodeError as error:
                raise MisfitError(Misfit.UTF8) from error
        if one.kind is not Kind.MESSAGE:
            raise MisfitError(Misfit.WIRE_TYPE)
        try:
            fields = read_fields(data, self._numbers.budget, depth + 1)
        except UnreadableError as error:
            if error.reason is not Unread.INVALID:
                raise
            raise MisfitError(Misfit.INVALID) from error
        return self._message(fields, self._definitions.messages[one.type_name], place, depth + 1)

    def _of_varint(self, value: int, one: FieldDefinition) -> JsonValue:
        """Raises MisfitError for a number that its type would cut: 2^32 + 5 is 5 to a server's ``int32``."""
        kind = one.kind
        if kind in (Kind.UINT64, Kind.INT64, Kind.SINT64):
            return _shown(
                value if kind is Kind.UINT64 else _zigzag(value) if kind is Kind.SINT64 else _signed(value), kind
            )
        if kind is Kind.BOOL:
            if value > 1:
                raise MisfitError(Misfit.RANGE)
            return value == 1
        if kind in (Kind.UINT32, Kind.SINT32):
            if value >> 32:
                raise MisfitError(Misfit.RANGE)
            return value if kind is Kind.UINT32 else _zigzag(value)
        signed = _signed(value)
        if not -(1 << 31) <= signed < 1 << 31:
            raise MisfitError(Misfit.RANGE)
        return self._enum(signed, one) if kind is Kind.ENUM else signed

    def _enum(self, value: int, one: FieldDefinition) -> JsonValue:
        return self._definitions.enums[one.type_name].get(value, value)

    def _unpack(self, found: JsonObject, fields: list[Field], place: Place, depth: int) -> None:
        """An Any's message, by its definition, or by numbers where there is none."""
        data = next((one.value for one in fields if one.number == 2 and isinstance(one.value, bytes)), b"")
        message = self._definitions.messages.get(str(found.get("typeUrl", "")).rpartition("/")[2])
        inner = (*place, ANY_MESSAGE)
        if message is None:
            self.has_unknown = True
        try:
            unpacked = read_fields(data, self._numbers.budget, depth + 1)
        except UnreadableError as error:
            if error.reason is not Unread.INVALID:
                raise
            raise MisfitError(Misfit.INVALID) from error
        found[ANY_MESSAGE] = (
            self._numbers.of_fields(unpacked, inner, depth + 1)
            if message is None
            else self._message(unpacked, message, inner, depth + 1)
        )


def _of_fixed(data: bytes, kind: Kind, form: str) -> JsonValue:
    if kind is Kind.DOUBLE:
        return number_of(form, data)
    if kind is Kind.FLOAT:
        return _shortest(number_of(form, data), data)
    return _shown(int(struct.unpack(form, data)[0]), kind)


def _shortest(value: float | str, data: bytes) -> float | str:
    """The shortest decimal that is the same 32 bits: 0.1, not 0.10000000149011612."""
    if isinstance(value, str):
        return value
    for digits in _SHORTEST_DIGITS:
        short = float(f"{value:.{digits}g}")
        try:
            if struct.pack("<f", short) == data:
                return short
        except OverflowError:
            continue
    return value


def _shown(value: int, kind: Kind) -> JsonValue:
    return str(value) if kind in _AS_TEXT else value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)
