"""Definitions of messages and methods, from a FileDescriptorSet (``google/protobuf/descriptor.proto``).

``protoc --include_imports --descriptor_set_out=FILE`` and ``buf build -o FILE`` write one. It is a message of Protocol
Buffers itself, read by ``protobuf_wire`` once, when catalogues are loaded.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.protocols.protobuf_wire import DEPTH_MAX, Field, FieldBudget, UnreadableError, read_fields

SET_BYTES_MAX: Final = 8 << 20
_SET_FIELDS_MAX: Final = 1_000_000
_REPEATED: Final = 3
UNKNOWN: Final = "@unknown"
"""The member of a message that holds the fields that its definition lacks."""
ANY_MESSAGE: Final = "@message"
"""The member of an Any that holds what is packed in it."""


class Kind(IntEnum):
    """``FieldDescriptorProto.Type``."""

    DOUBLE = 1
    FLOAT = 2
    INT64 = 3
    UINT64 = 4
    INT32 = 5
    FIXED64 = 6
    FIXED32 = 7
    BOOL = 8
    STRING = 9
    GROUP = 10
    MESSAGE = 11
    BYTES = 12
    UINT32 = 13
    ENUM = 14
    SFIXED32 = 15
    SFIXED64 = 16
    SINT32 = 17
    SINT64 = 18


class FieldDefinition(Struct, frozen=True):
    """``name``: as JSON has it. ``type_name``: of a message, a group or an enum. ``oneof``: its number in the message.
    ``has_default``: it is there with its default where it was not sent (proto3, without ``optional``)."""

    name: str
    kind: Kind
    is_repeated: bool
    type_name: str
    oneof: int | None
    has_default: bool


class MessageDefinition(Struct, frozen=True):
    name: str
    fields: Mapping[int, FieldDefinition]
    is_map_entry: bool


class Definitions(Struct, frozen=True):
    """Names with their package, without a dot before it. ``methods``: the type of what the client sends, by service
    and method."""

    messages: Mapping[str, MessageDefinition]
    enums: Mapping[str, Mapping[int, str]]
    methods: Mapping[tuple[str, str], str]


def read_definitions(data: bytes, *, where: str) -> Definitions:
    """Raises ValidationError."""
    if len(data) > SET_BYTES_MAX:
        raise ValidationError(f"{where}: larger than {SET_BYTES_MAX} bytes: build it without source information")
    reader = _Reader()
    try:
        for file in _messages(_parse(data, reader.budget), 1):
            reader.read_file(_parse(file, reader.budget))
    except (UnreadableError, UnicodeDecodeError, ValueError) as error:
        raise ValidationError(
            f"{where}: no FileDescriptorSet: write it with protoc --include_imports --descriptor_set_out"
        ) from error
    reader.check(where)
    return Definitions(reader.messages, reader.enums, reader.methods)


class _Reader:
    def __init__(self) -> None:
        self.budget = FieldBudget(_SET_FIELDS_MAX, SET_BYTES_MAX * DEPTH_MAX)
        self.messages: dict[str, MessageDefinition] = {}
        self.enums: dict[str, Mapping[int, str]] = {}
        self.methods: dict[tuple[str, str], str] = {}

    def read_file(self, file: list[Field]) -> None:
        package = _text(file, 2)
        is_proto3 = _text(file, 12) == "proto3"
        prefix = f"{package}." if package else ""
        for one in _messages(file, 4):
            self._read_message(_parse(one, self.budget), prefix, is_proto3=is_proto3)
        for one in _messages(file, 5):
            self._read_enum(_parse(one, self.budget), prefix)
        for one in _messages(file, 6):
            service = _parse(one, self.budget)
            for encoded in _messages(service, 2):
                method = _parse(encoded, self.budget)
                name = (prefix + _text(service, 1), _text(method, 1))
                self.methods[name] = _text(method, 2).removeprefix(".")

    def check(self, where: str) -> None:
        """Raises ValidationError: a type that is named and not there, a name that hides what stands for itself."""
        for message in self.messages.values():
            names = {field.name for field in message.fields.values()}
            if len(names) != len(message.fields) or (message.is_map_entry and not {1, 2} <= message.fields.keys()):
                raise ValidationError(f"{where}: {message.name}: two fields of one name, or a map without key or value")
            for field in message.fields.values():
                known = self.enums if field.kind is Kind.ENUM else self.messages
                if field.type_name and field.type_name not in known:
                    raise ValidationError(
                        f"{where}: {message.name}.{field.name}: {field.type_name} is not defined: add --include_imports"
                    )
                if field.name in (UNKNOWN, ANY_MESSAGE):
                    raise ValidationError(f"{where}: {message.name}.{field.name}: the name is reserved")
        for (service, method), type_name in self.methods.items():
            if type_name not in self.messages:
                raise ValidationError(f"{where}: {service}.{method}: {type_name} is not defined: add --include_imports")

    def _read_message(self, message: list[Field], prefix: str, *, is_proto3: bool) -> None:
        name = prefix + _text(message, 1)
        options = [_parse(one, self.budget) for one in _messages(message, 7)]
        fields = {}
        for one in _messages(message, 2):
            encoded = _parse(one, self.budget)
            fields[_number(encoded, 3, 0)] = _field(encoded, is_proto3=is_proto3)
        self.messages[name] = MessageDefinition(name, fields, any(_number(one, 7, 0) for one in options))
        for one in _messages(message, 3):
            self._read_message(_parse(one, self.budget), f"{name}.", is_proto3=is_proto3)
        for one in _messages(message, 4):
            self._read_enum(_parse(one, self.budget), f"{name}.")

    def _read_enum(self, enum: list[Field], prefix: str) -> None:
        values: dict[int, str] = {}
        for one in _messages(enum, 2):
            value = _parse(one, self.budget)
            values.setdefault(_signed(_number(value, 2, 0)), _text(value, 1))  # the first name of an alias
        self.enums[prefix + _text(enum, 1)] = values


def _field(field: list[Field], *, is_proto3: bool) -> FieldDefinition:
    name = _text(field, 1)
    kind = Kind(_number(field, 5, 0))
    oneof = _number(field, 9, -1)
    is_repeated = _number(field, 4, 0) == _REPEATED
    return FieldDefinition(
        name=_text(field, 10) or _json_name(name),
        kind=kind,
        is_repeated=is_repeated,
        type_name=_text(field, 6).removeprefix("."),
        oneof=None if oneof < 0 else oneof,
        has_default=is_repeated or (is_proto3 and oneof < 0 and kind not in (Kind.MESSAGE, Kind.GROUP)),
    )


def _json_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(one[:1].upper() + one[1:] for one in others)


def _parse(data: bytes, budget: FieldBudget) -> list[Field]:
    return read_fields(data, budget)


def _messages(fields: list[Field], number: int) -> Iterator[bytes]:
    return (one.value for one in fields if one.number == number and isinstance(one.value, bytes))


def _text(fields: list[Field], number: int) -> str:
    found = list(_messages(fields, number))
    return found[-1].decode() if found else ""


def _number(fields: list[Field], number: int, default: int) -> int:
    found = [one.value for one in fields if one.number == number and isinstance(one.value, int)]
    return found[-1] if found else default


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
