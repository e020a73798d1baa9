"""Messages by their definitions: as the official package writes them in JSON, and as it reads them."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, empty_pb2, json_format, message_factory
from google.protobuf import timestamp_pb2 as timestamp
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import ValidationError
from headgate.protocols.http_call import HttpCall
from headgate.protocols.protobuf_definitions import read_definitions
from headgate.protocols.protobuf_names import Misfit, MisfitError, NameReader
from headgate.protocols.protobuf_numbers import NumberReader
from headgate.protocols.protobuf_wire import DEPTH_MAX, Unread, UnreadableError
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

SCALARS = {
    "double": (Proto.TYPE_DOUBLE, st.floats(allow_nan=False)),
    "float": (Proto.TYPE_FLOAT, st.floats(width=32, allow_nan=False)),
    "int64": (Proto.TYPE_INT64, st.integers(-(1 << 63), (1 << 63) - 1)),
    "uint64": (Proto.TYPE_UINT64, st.integers(0, (1 << 64) - 1)),
    "int32": (Proto.TYPE_INT32, st.integers(-(1 << 31), (1 << 31) - 1)),
    "fixed64": (Proto.TYPE_FIXED64, st.integers(0, (1 << 64) - 1)),
    "fixed32": (Proto.TYPE_FIXED32, st.integers(0, (1 << 32) - 1)),
    "bool": (Proto.TYPE_BOOL, st.booleans()),
    "string": (Proto.TYPE_STRING, st.text(max_size=10)),
    "bytes": (Proto.TYPE_BYTES, st.binary(max_size=10)),
    "uint32": (Proto.TYPE_UINT32, st.integers(0, (1 << 32) - 1)),
    "enum": (Proto.TYPE_ENUM, st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(0, 2)),
    "sfixed32": (Proto.TYPE_SFIXED32, st.integers(-(1 << 31), (1 << 31) - 1)),
    "sfixed64": (Proto.TYPE_SFIXED64, st.integers(-(1 << 63), (1 << 63) - 1)),
    "sint32": (Proto.TYPE_SINT32, st.integers(-(1 << 31), (1 << 31) - 1)),
    "sint64": (Proto.TYPE_SINT64, st.integers(-(1 << 63), (1 << 63) - 1)),
}
KEYS = ("int32", "string", "bool", "uint64")


def _set() -> descriptor_pb2.FileDescriptorSet:
    """One message with each scalar alone, optional and in a list; in it itself, maps, a oneof and an Any."""
    file = descriptor_pb2.FileDescriptorProto(
        name="tests/all.proto",
        package="tests.v1",
        syntax="proto3",
        dependency=["google/protobuf/any.proto", "google/protobuf/timestamp.proto"],
    )
    color = file.enum_type.add(name="Color")
    for number, name in enumerate(("NONE", "RED", "GREEN")):
        color.value.add(name=name, number=number)
    message = file.message_type.add(name="All")

    def add(name: str, number: int, kind: int, **more: Any) -> Any:
        field = message.field.add(name=name, number=number, type=kind, label=Proto.LABEL_OPTIONAL, **more)
        field.json_name = "".join(one.capitalize() if at else one for at, one in enumerate(name.split("_")))
        return field

    for at, (name, (kind, _)) in enumerate(SCALARS.items()):
        more = {"type_name": ".tests.v1.Color"} if name == "enum" else {}
        add(f"one_{name}", 1 + at, kind, **more)
        add(f"many_{name}", 101 + at, kind, **more).label = Proto.LABEL_REPEATED
        add(f"maybe_{name}", 201 + at, kind, **more, proto3_optional=True, oneof_index=1 + at)
    message.oneof_decl.add(name="choice")
    for name in SCALARS:
        message.oneof_decl.add(name=f"_maybe_{name}")
    add("left", 301, Proto.TYPE_STRING, oneof_index=0)
    add("right", 302, Proto.TYPE_INT32, oneof_index=0)
    add("inner", 303, Proto.TYPE_MESSAGE, type_name=".tests.v1.All")
    add("inners", 304, Proto.TYPE_MESSAGE, type_name=".tests.v1.All").label = Proto.LABEL_REPEATED
    add("packed_in", 305, Proto.TYPE_MESSAGE, type_name=".google.protobuf.Any")
    add("at", 306, Proto.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp")
    for at, name in enumerate(KEYS):
        entry = message.nested_type.add(name=f"Map{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=SCALARS[name][0], label=1, json_name="key")
        entry.field.add(
            name="value", number=2, type=Proto.TYPE_MESSAGE, type_name=".tests.v1.All", label=1, json_name="value"
        )
        add(
            f"map_{name}", 401 + at, Proto.TYPE_MESSAGE, type_name=f".tests.v1.All.{entry.name}"
        ).label = Proto.LABEL_REPEATED
    service = file.service.add(name="Echo")
    service.method.add(name="Say", input_type=".tests.v1.All", output_type=".tests.v1.All")
    files = descriptor_pb2.FileDescriptorSet()
    for module in (any_pb2, timestamp):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.append(file)
    return files


FILES = _set()
ENCODED_FILES = FILES.SerializeToString()
DEFINITIONS = read_definitions(ENCODED_FILES, where="tests.binpb")
_POOL = descriptor_pool.DescriptorPool()
for _one in FILES.file:
    _POOL.Add(_one)
All: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("tests.v1.All"))


@st.composite
def messages(draw: st.DrawFn, depth: int = 2) -> Any:
    message = All()
    for name in draw(st.sets(st.sampled_from(sorted(SCALARS)), max_size=4)):
        values = SCALARS[name][1]
        form = draw(st.sampled_from(("one", "many", "maybe")))
        if form == "many":
            getattr(message, f"many_{name}").extend(draw(st.lists(values, max_size=4)))
        else:
            setattr(message, f"{form}_{name}", draw(values))
    if draw(st.booleans()):
        setattr(message, *draw(st.sampled_from((("left", "l"), ("right", 0)))))
    if depth:
        if draw(st.booleans()):
            message.inner.CopyFrom(draw(messages(depth - 1)))
        message.inners.extend(draw(st.lists(messages(depth - 1), max_size=2)))
        for name in draw(st.sets(st.sampled_from(KEYS), max_size=2)):
            getattr(message, f"map_{name}")[draw(SCALARS[name][1])].CopyFrom(draw(messages(depth - 1)))
    return message


def read(data: bytes) -> Any:
    reader = NameReader(DEFINITIONS, NumberReader())
    return reader.read(data, "tests.v1.All", ("messages", 0))


def misfit(data: bytes) -> Misfit:
    with pytest.raises(MisfitError) as caught:
        read(data)
    return caught.value.reason


def in_json(message: Message) -> Any:
    return json_format.MessageToDict(message, always_print_fields_with_no_presence=True)


@given(messages())
@settings(max_examples=60, deadline=None)
def test_it_is_the_json_that_the_official_package_writes(message: Any) -> None:
    assert read(message.SerializeToString()) == in_json(message)


@given(messages(depth=1), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_never_read_otherwise_than_the_official_package_reads_them(
    message: Any, data: st.DataObject
) -> None:
    encoded = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(encoded)))
        encoded[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    reader = NameReader(DEFINITIONS, NumberReader())
    try:
        found = reader.read(bytes(encoded), "tests.v1.All", ())
    except (MisfitError, UnreadableError):
        return
    official = All()
    try:
        official.ParseFromString(bytes(encoded))
    except DecodeError:
        return  # this server refuses the call
    assert found == read(official.SerializeToString())


def test_lists_are_read_packed_and_unpacked() -> None:
    # many_int32 is field 105: 0xc8 0x06 as a varint, 0xca 0x06 as bytes.
    assert read(b"\xc8\x06\x01\xca\x06\x02\x02\x03\xc8\x06\x04")["manyInt32"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("reason", "data"),
    [
        (Misfit.REPEATED, b"\x28\x01\x28\x02"),  # one_int32 twice
        (Misfit.REPEATED, b"\xea\x12\x01a\xf0\x12\x01"),  # both of a oneof
        (Misfit.REPEATED, b"\xfa\x12\x00\xfa\x12\x00"),  # one message in two pieces, which servers merge
        (Misfit.REPEATED, b"\x8a\x19\x02\x08\x01\x8a\x19\x02\x08\x01"),  # one key of a map twice
        (Misfit.RANGE, b"\x28\x85\x80\x80\x80\x10"),  # int32 of 2^32 + 5
        (Misfit.RANGE, b"\x40\x02"),  # a bool of 2
        (Misfit.RANGE, b"\x58\x80\x80\x80\x80\x10"),  # uint32 of 2^32
        (Misfit.WIRE_TYPE, b"\x2a\x01\x05"),  # one_int32 as bytes
        (Misfit.WIRE_TYPE, b"\x48\x05"),  # one_string as a varint
        (Misfit.WIRE_TYPE, b"\x0d\x00\x00\x00\x00"),  # one_double of 32 bits
        (Misfit.WIRE_TYPE, b"\xfb\x12\xfc\x12"),  # inner as a group
        (Misfit.UTF8, b"\x4a\x01\xff"),
        (Misfit.INVALID, b"\xfa\x12\x01\x08"),  # inner, cut
        (Misfit.INVALID, b"\xca\x06\x01\x80"),  # a packed list, cut
        (Misfit.INVALID, b"\xaa\x06\x03abc"),  # a packed list of 64 bits, cut
    ],
)
def test_what_servers_could_read_in_another_way_does_not_fit(reason: Misfit, data: bytes) -> None:
    assert misfit(data) is reason


def test_unknown_fields_are_shown_by_number() -> None:
    reader = NameReader(DEFINITIONS, NumberReader())
    found = reader.read(b"\x28\x05\xfa\x3e\x02hi", "tests.v1.All", ())
    assert (found["oneInt32"], found["@unknown"], reader.has_unknown) == (
        5,
        {"1007": [{"text": "hi", "message": {"13": [105]}}]},
        True,
    )


def test_an_any_is_unpacked() -> None:
    message = All()
    message.packed_in.Pack(All(one_string="inside"))
    assert read(message.SerializeToString())["packedIn"]["@message"]["oneString"] == "inside"
    message.packed_in.Pack(empty_pb2.Empty())
    message.packed_in.value = b"\x0a\x01~"
    reader = NameReader(DEFINITIONS, NumberReader())
    found: Any = reader.read(message.SerializeToString(), "tests.v1.All", ())
    assert (found["packedIn"]["@message"], reader.has_unknown) == ({"1": [{"text": "~"}]}, True)


def test_bounds() -> None:
    message = All()
    here = message
    for _ in range(DEPTH_MAX + 1):
        here = here.inner
    here.one_int32 = 1
    for data in (message.SerializeToString(), All(inners=[All()] * 2_000).SerializeToString()):
        with pytest.raises(UnreadableError) as caught:
            read(data)
        assert caught.value.reason in (Unread.TOO_DEEP, Unread.TOO_MANY)


@pytest.mark.parametrize(
    ("says", "data"),
    [
        ("no FileDescriptorSet", b"syntax = 'proto3';"),
        ("is not defined", descriptor_pb2.FileDescriptorSet(file=FILES.file[2:]).SerializeToString()),
        ("larger than", bytes(9 << 20)),
    ],
)
def test_a_file_that_is_no_whole_set_is_refused(says: str, data: bytes) -> None:
    with pytest.raises(ValidationError, match=says):
        read_definitions(data, where="tests.binpb")


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_file_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(ValidationError):
        read_definitions(data, where="tests.binpb")


def called(folder: Path, message: bytes, path: str = "/tests.v1.Echo/Say") -> tuple[Any, Any]:
    """The facts and the messages."""
    (folder / "echo.yaml").write_text("tool: echo\ndescription: Echo\nprotocol: grpc\nhosts: [grpc.example.com]\n")
    (folder / "echo.binpb").write_bytes(ENCODED_FILES)
    framed = b"\0" + len(message).to_bytes(4, "big") + message
    call = HttpCall(
        "POST", "https", "grpc.example.com", 443, path, "", ((b"content-type", b"application/grpc"),), framed
    )
    draft = interpret(call, CatalogueIndex([load_catalogue(folder / "echo.yaml")]))
    assert draft.facts is not None
    return parse_strict(draft.facts.shown), draft.params["messages"]


def test_a_call_by_the_definitions_beside_its_catalogue(tmp_path: Path) -> None:
    facts, [message] = called(tmp_path, All(one_string="hello").SerializeToString())
    assert (facts["fields"], facts["misfit"], facts["unread"]) == ("names", None, None)
    assert (message["oneString"], message["oneInt32"], message["manyBool"]) == ("hello", 0, [])


def test_what_does_not_fit_is_by_numbers_and_says_so(tmp_path: Path) -> None:
    facts, [message] = called(tmp_path, b"\x28\x01\x28\x02")
    assert (facts["fields"], facts["misfit"], facts["unread"]) == ("numbers", "repeated", None)
    assert message == {"5": [1, 2]}
    facts, [message] = called(tmp_path, b"\x28\x01", "/tests.v1.Echo/Shout")
    assert (facts["fields"], facts["misfit"], message) == ("numbers", "method", {"5": [1]})
    facts, [message] = called(tmp_path, b"\x28")
    assert (facts["unread"], message) == ("invalid", None)


def test_definitions_are_for_grpc(tmp_path: Path) -> None:
    called(tmp_path, b"")
    (tmp_path / "echo.yaml").write_text("tool: echo\ndescription: Echo\nhosts: [grpc.example.com]\n")
    with pytest.raises(ValidationError, match=r"echo\.binpb beside the catalogue"):
        load_catalogue(tmp_path / "echo.yaml")
