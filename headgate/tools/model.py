"""A tool catalogue: which calls of an API are which operations. Frozen types; ``load`` makes them from YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, sha256_hex
from headgate.protocols.body import BodyReading
from headgate.protocols.draft import Effect
from headgate.protocols.graphql_operation import DeclaredVariable, OperationKind
from headgate.protocols.protobuf_definitions import Definitions

SEVERAL: Final = "several"
"""The operation of a GraphQL request with several root fields."""


class SegmentKind(StrEnum):
    LITERAL = "literal"
    INTEGER = "integer"
    """``{number:int}``: a canonical decimal; ``007`` is another resource to some servers, and does not match."""
    TEXT = "text"
    """``{name}``: any one segment."""
    REST = "rest"
    """``{path...}``, last only: one or more segments."""


class Segment(Struct, frozen=True):
    """``text``: the literal, or the variable's name."""

    kind: SegmentKind
    text: str


class Protocol(StrEnum):
    REST = "rest"
    MCP = "mcp"
    GRAPHQL = "graphql"


class HostProtocol(StrEnum):
    """What all calls to the hosts of a catalogue speak, where its entries do not say it call by call."""

    A2A = "a2a"
    AWS = "aws"
    CARGO = "cargo"
    GO = "go"
    GRPC = "grpc"
    JSON_RPC = "jsonrpc"
    MAVEN = "maven"
    NPM = "npm"
    PYPI = "pypi"


class Conditions(Struct, frozen=True):
    """What query and body must hold, member by member, for an entry to apply."""

    query: Mapping[str, str]
    body: Mapping[str, JsonValue]

    def __bool__(self) -> bool:
        return bool(self.query) or bool(self.body)


class ParamMapping(Struct, frozen=True):
    """How the members of a call become params where they keep not simply their names."""

    rename_query: Mapping[str, str]
    rename_body: Mapping[str, str]
    headers: Mapping[str, str]
    repeated: frozenset[str]
    fold_case: frozenset[str]


class Content(StrEnum):
    """What carries the params that neither the path nor the query takes, where Headgate makes the call."""

    QUERY = "query"
    JSON = "json"
    FORM = "form"


class CredentialPlace(Struct, frozen=True):
    """The credential that is added when the call is made, after it was decided: its name in the settings, and the
    header that carries it."""

    name: str
    header: str
    prefix: str


class Sending(Struct, frozen=True):
    """How Headgate makes the call itself, for an explicit action.

    ``host`` may begin with ``*.``: the catalogue's ``host_param`` says what stands there. ``query``: params that
    travel in the query whatever the content. ``defaults``: params of the path that need not be given. ``repeatable``:
    sending it twice does what sending it once does, so a call whose outcome is unknown may be sent again. ``keep``:
    members of the answer that become the result; none: all.
    """

    scheme: str
    host: str
    port: int
    method: str
    content: Content
    query: frozenset[str]
    headers: Mapping[str, str]
    defaults: Mapping[str, str]
    idempotency_header: str | None
    repeatable: bool
    keep: Sequence[str]
    credential: CredentialPlace | None


class GraphqlRoot(Struct, frozen=True):
    """The root field that an entry is, and the document that asks for it: each argument is a variable of its name."""

    kind: OperationKind
    field: str
    text: str
    variables: Mapping[str, DeclaredVariable]


class Success(Struct, frozen=True):
    """What the body of an answer, in JSON, says of a call that succeeded, beside its status.

    ``body``: members that it must hold, each so, members of members likewise. ``without``: members that it must not
    hold, or hold nothing in.
    """

    body: JsonObject
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Entry:
    """One operation. ``expected_status``: None means below 400. ``where``: file and position, for errors.
    ``success`` None: the status alone says it. ``facts``: the params that people who decide need to see first.

    ``document`` is what the catalogue says, in canonical JSON: its digest is recorded with each action.
    """

    where: str
    tool: str
    operation: str
    description: str
    hosts: Sequence[str]
    methods: Sequence[str]
    path: Sequence[Segment]
    conditions: Conditions
    mapping: ParamMapping
    reading: BodyReading
    effect: Effect
    expected_status: frozenset[int] | None
    protocol: Protocol
    sending: Sending
    document: bytes
    graphql: GraphqlRoot | None = None
    success: Success | None = None
    facts: Sequence[str] = ()
    encoded_slashes: bool = False

    @cached_property
    def sha256(self) -> str:
        return sha256_hex(self.document)


class Catalogue(Struct, frozen=True):
    """All that is known of one tool. ``unlisted_reads``: whether a GET that no entry lists only reads.
    ``encoded_slashes``: whether the server reads ``%2F`` in a path as a character of its segment.
    ``host_param``: the param that holds what stands for ``*`` in a host, where that says which account it is."""

    where: str
    tool: str
    description: str
    hosts: Sequence[str]
    reading: BodyReading
    unlisted_reads: bool
    entries: Sequence[Entry]
    encoded_slashes: bool = False
    host_param: str | None = None
    protocol: HostProtocol | None = None
    roots: Sequence[str] = ("/",)
    """Under which paths the package indexes of ``protocol`` lie."""
    definitions: Definitions | None = None
    """Of the messages of gRPC."""

    def name_before(self, host: str) -> str | None:
        """What stands for ``*`` in the listed name that covers ``host``; None: it is listed itself."""
        above = [one[1:] for one in self.hosts if one.startswith("*.") and host.endswith(one[1:])]
        return None if host in self.hosts or not above else host.removesuffix(max(above, key=len))
