"""SOAP 1.1 (section 6.1.1, "The SOAPAction HTTP Header Field") and 1.2 (Part 2, section 6.5.3): the operation.

Servers choose it by the header, by WS-Addressing's Action or by the first element of the body. Where these do not name
the same one, the request is refused.
"""

import re
from typing import Final
from xml.parsers import expat

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.content_type import read_content_type
from headgate.protocols.headers import Headers
from headgate.protocols.names import fit_name

SOAP_TOOL: Final = "soap"
_ENVELOPES: Final = {
    "http://schemas.xmlsoap.org/soap/envelope/": "1.1",
    "http://www.w3.org/2003/05/soap-envelope": "1.2",
}
_ADDRESSING: Final = frozenset(
    {"http://www.w3.org/2005/08/addressing", "http://schemas.xmlsoap.org/ws/2004/08/addressing"}
)
_TYPE_OF_1_2: Final = "application/soap+xml"
_ACTION_PARAMETER: Final = re.compile(r";[ \t]*action=(?:\"([^\"]*)\"|([^;\"\s]*))", re.IGNORECASE)
_END: Final = re.compile(r"[^/#:]*\Z")
_SUFFIXES: Final = ("request", "requestmsg", "requestmessage")
_CHARACTERS_MAX: Final = 1_024
_DEPTH_MAX: Final = 200
_UNKNOWN: Final = "unknown"
_ENVELOPE_DEPTH, _PART_DEPTH, _ELEMENT_DEPTH = 1, 2, 3


class SoapCall(Struct, frozen=True):
    """``facts``: what policies read as ``input.soap``."""

    operation: str
    facts: JsonObject


class _Envelope(Struct):
    """What was found in a document. ``elements``: of the body, as (namespace, name)."""

    version: str | None = None
    parts: list[str] = field(default_factory=list)
    elements: list[tuple[str, str]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)


def recognise(method: str, headers: Headers, body: Body) -> SoapCall | None:
    """None where the call is none of SOAP. Raises AmbiguousRequestError."""
    if method != "POST":
        return None
    header = headers.shown.get("soapaction")
    content_type = headers.content_type or ""
    is_labelled = header is not None or read_content_type(content_type).media_type == _TYPE_OF_1_2
    text = body.value if body.kind is BodyKind.TEXT and isinstance(body.value, str) else None
    envelope = None if text is None else _read(text, is_labelled=is_labelled)
    if envelope is None or envelope.version is None:
        return SoapCall(_UNKNOWN, _facts(None, None, None, None)) if is_labelled else None
    action = _action(header, content_type, envelope)
    namespace, name = _only_element(envelope)
    if action and not _agree(action, name):
        raise _ambiguous(f"the action is {action[:80]}, and the body asks for {name[:80]}")
    return SoapCall(fit_name(name), _facts(envelope.version, action or None, name, namespace or None))


def _facts(version: str | None, action: str | None, operation: str | None, namespace: str | None) -> JsonObject:
    return {"version": version, "action": action, "operation": operation, "namespace": namespace}


def _action(header: object, content_type: str, envelope: _Envelope) -> str:
    """Of all places that name one; empty: none does."""
    if isinstance(header, list):
        raise _ambiguous("the header SOAPAction is there more than once")
    found = set(envelope.actions)
    if isinstance(header, str):
        text = header.strip()
        quoted = len(text) > 1 and text[0] == text[-1] == '"'
        found.add(text[1:-1] if quoted else text)
    parameters = _ACTION_PARAMETER.findall(content_type)
    found |= {quoted or plain for quoted, plain in parameters}
    found.discard("")
    if len(found) > 1 or len(parameters) > 1:
        raise _ambiguous("it names several actions")
    action = found.pop() if found else ""
    if '"' in action or len(action) > _CHARACTERS_MAX:
        raise _ambiguous("its action is not one text in quotes")
    return action


def _only_element(envelope: _Envelope) -> tuple[str, str]:
    if envelope.parts not in (["Body"], ["Header", "Body"]) or len(envelope.elements) != 1:
        raise _ambiguous("its envelope is not one header and one body with one element")
    return envelope.elements[0]


def _agree(action: str, name: str) -> bool:
    """Whether the last part of an action's URI is the element's name, which may say that it is a request."""
    told = _END.search(action.rstrip("/"))
    end, name = "" if told is None else told[0].casefold(), name.casefold()
    return end == name or any(end + suffix == name or end == name + suffix for suffix in _SUFFIXES)


def _read(text: str, *, is_labelled: bool) -> _Envelope | None:
    """None: it is no XML, and nothing says that it is. A document type is refused (SOAP 1.1, section 3)."""
    envelope, depth, path = _Envelope(), 0, [""]
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
    collected: list[str] | None = None

    def start(tag: str, _: object) -> None:
        nonlocal depth, collected
        depth += 1
        namespace, _separator, name = tag.rpartition(" ")
        if depth > _DEPTH_MAX:
            raise _ambiguous("it is nested too deeply")
        if depth == _ENVELOPE_DEPTH:
            envelope.version = _ENVELOPES.get(namespace) if name == "Envelope" else None
        elif depth == _PART_DEPTH:
            path[0] = name if namespace in _ENVELOPES else ""
            envelope.parts.append(path[0])
        elif depth == _ELEMENT_DEPTH and path[0] == "Body":
            envelope.elements.append((namespace, name))
        elif depth == _ELEMENT_DEPTH and path[0] == "Header" and name == "Action" and namespace in _ADDRESSING:
            collected = []

    def end(_: str) -> None:
        nonlocal depth, collected
        if depth == _ELEMENT_DEPTH and collected is not None:
            envelope.actions.append("".join(collected).strip())
            collected = None
        depth -= 1

    def data(piece: str) -> None:
        if collected is not None:
            collected.append(piece)

    def refuse_type(*_: object) -> None:
        raise _DocumentTypeError

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = data, refuse_type
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        if is_labelled or envelope.version is not None:
            raise _ambiguous("it is no well-formed XML") from error
        return None
    except _DocumentTypeError:
        if is_labelled:
            raise _ambiguous("it has a document type") from None
        return None
    if envelope.version is not None and _names_other_encoding(text):
        raise _ambiguous("it names an encoding other than UTF-8")
    return envelope


class _DocumentTypeError(Exception):
    """The document declares a type, whose entities stand for other text."""


def _names_other_encoding(text: str) -> bool:
    declared = re.match(r"\ufeff?<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']", text)
    return declared is not None and declared[1].casefold() not in ("utf-8", "utf8", "us-ascii", "ascii")


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the SOAP request can be read in more than one way: {reason}", details={"field": "body"}
    )
