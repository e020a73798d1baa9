"""Catalogues from YAML. Every error names the file, the entry and the member.

The format is described in docs/reference/catalogues.md; unknown members are refused, since a typing error
in ``effect`` or ``when`` would otherwise quietly become a default.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from headgate.configuration.yaml_document import Section, parse_document, read_text
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.protocols.body import BodyReading
from headgate.protocols.draft import Effect
from headgate.protocols.package import Ecosystem
from headgate.protocols.protobuf_definitions import Definitions, read_definitions
from headgate.tools.catalogue_files import DEFINITIONS_SUFFIX, catalogue_paths
from headgate.tools.generic import GENERIC_TOOL
from headgate.tools.load_graphql import read_graphql_root
from headgate.tools.load_operation import (
    read_choice,
    read_effect,
    read_methods,
    read_name,
    read_operation,
    read_protocol,
    read_sent_method,
)
from headgate.tools.load_sending import read_sending
from headgate.tools.load_success import read_success
from headgate.tools.match import CatalogueIndex
from headgate.tools.model import (
    Catalogue,
    Conditions,
    Entry,
    HostProtocol,
    ParamMapping,
    Protocol,
    Segment,
    SegmentKind,
)
from headgate.tools.recognised import RECOGNISED_TOOLS

_ROOT: Final = re.compile(r"/|(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)+")
_HOST: Final = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*")
_LITERAL: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%-]+")
_VARIABLE: Final = re.compile(r"\{([a-z][a-z0-9_]*)(:int|\.\.\.)?\}")
_VARIABLE_KINDS: Final = {None: SegmentKind.TEXT, ":int": SegmentKind.INTEGER, "...": SegmentKind.REST}

type _File = tuple[str, str, bytes | None]
"""Where it is, what it says, and the definitions beside it."""


def load_catalogues(own: Path | None = None) -> CatalogueIndex:
    """The catalogues that come with Headgate, and every ``*.yaml`` of ``own`` where there is such a folder.

    One of ``own`` takes the place of the one that comes with Headgate under the same file name. Files that say what
    they said the last time give the same index, which nobody changes. Raises ValidationError.
    """
    return _index(tuple(_file(path) for path in catalogue_paths(own)))


@lru_cache(maxsize=4)
def _index(files: tuple[_File, ...]) -> CatalogueIndex:
    return CatalogueIndex([_catalogue(*file) for file in files])


def list_catalogues(own: Path | None = None) -> list[Catalogue]:
    """The same one by one. Raises ValidationError."""
    return [load_catalogue(path) for path in catalogue_paths(own)]


def load_catalogue(path: Path) -> Catalogue:
    """Raises ValidationError."""
    return _catalogue(*_file(path))


def _file(path: Path) -> _File:
    """Raises ValidationError."""
    beside = path.with_suffix(DEFINITIONS_SUFFIX)
    try:
        return str(path), read_text(path), beside.read_bytes() if beside.is_file() else None
    except OSError as error:
        raise ValidationError(f"{beside}: cannot be read: {error}") from error


@lru_cache(maxsize=16)
def _catalogue(where: str, text: str, definitions: bytes | None) -> Catalogue:
    document = parse_document(text, where=where)
    document.only(
        *("tool", "description", "hosts", "host_param", "body", "fold_case", "facts", "unlisted_reads", "send"),
        *("success", "entries", "protocol", "roots", "encoded_slashes"),
    )
    tool = read_name(document, "tool")
    if tool == GENERIC_TOOL or tool in RECOGNISED_TOOLS or tool.startswith("mcp_"):
        raise document.fail("tool", f"{tool} is reserved for calls that no catalogue covers")
    hosts = _hosts(document, ())
    if not hosts:
        raise document.fail("hosts", "at least one host is required")
    unlisted_reads = _flag(document, "unlisted_reads", default=True)
    encoded_slashes = _flag(document, "encoded_slashes", default=False)
    reading = _reading(document, BodyReading.BY_TYPE)
    fold_case = frozenset(document.strings("fold_case"))
    host_param = read_name(document, "host_param") if "host_param" in document.members else None
    send = document.section("send")
    return Catalogue(
        where=document.where,
        tool=tool,
        description=document.text("description"),
        hosts=hosts,
        reading=reading,
        unlisted_reads=unlisted_reads,
        entries=tuple(
            _entry(
                section,
                tool=tool,
                hosts=hosts,
                reading=reading,
                fold_case=fold_case,
                encoded_slashes=encoded_slashes,
                send=send,
                shared=document,
            )
            for section in document.sections("entries")
        ),
        encoded_slashes=encoded_slashes,
        host_param=host_param,
        protocol=_host_protocol(document),
        roots=_roots(document),
        definitions=None if definitions is None else _definitions(document, definitions),
    )


def _host_protocol(document: Section) -> HostProtocol | None:
    if "protocol" not in document.members:
        return None
    if document.members.get("entries"):
        raise document.fail("entries", "a catalogue with a protocol has no entries: the protocol names the operations")
    return HostProtocol(read_choice(document, "protocol", tuple(HostProtocol), None))


def _flag(document: Section, name: str, *, default: bool) -> bool:
    value = document.members.get(name, default)
    if not isinstance(value, bool):
        raise document.fail(name, "true or false is required")
    return value


def _definitions(document: Section, data: bytes) -> Definitions:
    file = Path(document.where).with_suffix(DEFINITIONS_SUFFIX)
    if document.members.get("protocol") != HostProtocol.GRPC:
        raise document.fail("protocol", f"{file.name} beside the catalogue holds definitions for the protocol grpc")
    return read_definitions(data, where=str(file))


def _roots(document: Section) -> Sequence[str]:
    roots = document.strings("roots")
    if roots and document.members.get("protocol") not in tuple(Ecosystem):
        raise document.fail("roots", f"is for the protocols {', '.join(Ecosystem)}")
    for root in roots:
        if _ROOT.fullmatch(root) is None:
            raise document.fail("roots", f"{root!r} is not a path that begins with /")
    return roots or ("/",)


def _entry(
    section: Section,
    *,
    tool: str,
    hosts: Sequence[str],
    reading: BodyReading,
    fold_case: frozenset[str],
    encoded_slashes: bool,
    send: Section,
    shared: Section,
) -> Entry:
    section.only(
        *("operation", "description", "hosts", "method", "path", "when", "params", "repeated", "body", "effect"),
        *("facts", "expected_status", "success", "protocol", "send", "query", "mutation", "document"),
    )
    protocol = read_protocol(section)
    if protocol is Protocol.MCP:
        operation, effect = "mcp_response", Effect.WRITE  # each message names its own
    else:
        operation, effect = read_operation(section), read_effect(section)
    root = read_graphql_root(section, protocol, effect)
    methods = read_methods(section, protocol)
    path = parse_template(section)
    if encoded_slashes and any(segment.kind is SegmentKind.REST for segment in path):
        raise section.fail("path", "{name...} cannot be used with encoded_slashes: its value would not tell / from %2F")
    when, params = section.section("when"), section.section("params")
    when.only("query", "body")
    params.only("query", "body", "header")
    entry_hosts = _hosts(section, hosts)
    return Entry(
        where=section.where,
        tool=tool,
        operation=operation,
        description=section.text("description"),
        hosts=entry_hosts,
        methods=methods,
        path=path,
        conditions=Conditions(_texts(when.section("query")), when.section("body").members),
        mapping=ParamMapping(
            rename_query=_texts(params.section("query")),
            rename_body=_texts(params.section("body")),
            headers={name.lower(): target for name, target in _texts(params.section("header")).items()},
            repeated=frozenset(section.strings("repeated")),
            fold_case=fold_case,
        ),
        reading=_reading(section, reading),
        effect=effect,
        expected_status=_statuses(section),
        protocol=protocol,
        sending=read_sending(
            section.section("send"),
            send,
            hosts=entry_hosts,
            method=read_sent_method(section.section("send"), methods, protocol, effect),
            effect=effect,
        ),
        graphql=root,
        success=read_success(section, shared, root),
        facts=section.strings("facts") or shared.strings("facts"),
        encoded_slashes=encoded_slashes,
        document=canonical_bytes({"tool": tool, "hosts": [*_hosts(section, hosts)], **section.members}),
    )


def parse_template(section: Section) -> tuple[Segment, ...]:
    """The member ``path``: literals and variables. Raises ValidationError."""
    template = section.text("path")
    if not template.startswith("/") or (template != "/" and template.endswith("/")):
        raise section.fail("path", "begins with / and does not end with it")
    segments: list[Segment] = []
    for text in template.split("/")[1:] if template != "/" else []:
        if segments and segments[-1].kind is SegmentKind.REST:
            raise section.fail("path", "{name...} must be the last segment")
        if (variable := _VARIABLE.fullmatch(text)) is not None:
            if any(one.text == variable[1] and one.kind is not SegmentKind.LITERAL for one in segments):
                raise section.fail("path", f"the variable {variable[1]} is there twice")
            segments.append(Segment(_VARIABLE_KINDS[variable[2]], variable[1]))
        elif _LITERAL.fullmatch(text) is not None:
            segments.append(Segment(SegmentKind.LITERAL, text))
        else:
            raise section.fail("path", f"{text!r} is neither a literal nor one variable")
    return tuple(segments)


def _hosts(section: Section, default: Sequence[str]) -> Sequence[str]:
    hosts = section.strings("hosts") or default
    for host in hosts:
        if _HOST.fullmatch(host) is None:
            raise section.fail("hosts", f"{host!r} is not a host in lower case, or *. and one")
    return hosts


def _reading(section: Section, default: BodyReading) -> BodyReading:
    return BodyReading(read_choice(section, "body", tuple(BodyReading), default))


def _texts(section: Section) -> dict[str, str]:
    return {key: section.text(key) for key in section.members}


def _statuses(section: Section) -> frozenset[int] | None:
    value = section.members.get("expected_status")
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise section.fail("expected_status", "a list of statuses is required")
    statuses: set[int] = set()
    for one in value:
        if isinstance(one, bool) or not isinstance(one, int) or not 200 <= one <= 599:
            raise section.fail("expected_status", f"{one!r} is not a status from 200 to 599")
        statuses.add(one)
    return frozenset(statuses)
