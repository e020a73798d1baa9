"""Calls to AWS, and to servers that an administrator says speak as it does: service, operation, region, bucket and key.

The service decides by its host, and refuses a signature for another one; where host and signature disagree, the request
is refused here. The operation is read only where the service is known to read it in this place, and the request
names it once (Smithy, "AWS protocols"). Everything else is an operation that nobody knows, and a write.
"""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.aws_effects import effect_of
from headgate.protocols.aws_hosts import AwsHost, Wire, is_of_aws, read_host, wires_of
from headgate.protocols.aws_signature import Scope, read_scope
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.draft import Effect, ReadCall
from headgate.protocols.headers import Headers
from headgate.protocols.llm_endpoints import BEDROCK, bedrock_operation
from headgate.protocols.names import fit_name
from headgate.protocols.query import Pairs
from headgate.protocols.s3 import S3Call, read_s3

AWS_TOOL: Final = "aws"
_S3: Final = "s3"
_TARGET: Final = "x-amz-target"
_CBOR_MARK: Final = "smithy-protocol"
_ACTION: Final = "action"
_OPERATION: Final = re.compile(r"[A-Z][A-Za-z0-9]{1,127}")
_TARGET_VALUE: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}\.(?P<operation>[A-Z][A-Za-z0-9]{1,127})")
_CBOR_PATH: Final = re.compile(r"/service/[A-Za-z0-9_.-]{1,128}/operation/(?P<operation>[A-Z][A-Za-z0-9]{1,127})")
_CBOR_START: Final = "/service/"
_QUEUE: Final = re.compile(r"/[0-9]{12}/[A-Za-z0-9_-]{1,80}(?:\.fifo)?")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNKNOWN: Final = "unknown"
_FILE_NAME: Final = "${filename}"


class AwsRequest(Struct, frozen=True):
    """``facts``: what policies read as ``input.aws``."""

    operation: str
    effect: Effect
    facts: JsonObject


class NamedHost(Struct, frozen=True):
    """A host that a catalogue names. ``bucket``: the part of its name before the one that was named."""

    bucket: str | None


def recognise(
    read_call: ReadCall, headers: Headers, body: Body, *, named: NamedHost | None = None
) -> AwsRequest | None:
    """None where the call is not signed for AWS, or its host is neither one of AWS nor ``named``.

    Raises AmbiguousRequestError: host, signature and address disagree, or name several operations.
    """
    if named is None and not is_of_aws(read_call.call.host):
        return None
    form = _form(body)
    scope = read_scope(read_call, form if body.kind is BodyKind.MULTIPART else ())
    if named is not None:
        return _at_named_host(read_call, headers, body, form, scope, named)
    if scope is None:
        return None
    host = read_host(read_call.call.host)
    if host is None:
        call = read_call.call
        asked = bedrock_operation(call.method, call.host, read_call.path) if scope.service == BEDROCK else None
        return _request(scope, asked, call.method)
    _require_agreement(host, scope)
    if host.service is None:
        return _of_s3(read_call, headers, body, form, scope, bucket=host.bucket, folds_slashes=False)
    return _of_service(read_call, headers, body, form, scope, host.service.wires)


def _at_named_host(
    read_call: ReadCall, headers: Headers, body: Body, form: Pairs, scope: Scope | None, named: NamedHost
) -> AwsRequest:
    """Without a signature it asks for what is public, which only S3 has."""
    scope = Scope(_S3, None) if scope is None else scope
    if scope.service == _S3:
        return _of_s3(read_call, headers, body, form, scope, bucket=named.bucket, folds_slashes=True)
    wires = wires_of(scope.service)
    if read_call.path != "/" and not _names_operation(read_call, headers, form):
        # A server may not look at the service in the signature, and act on the object that the path names.
        raise _ambiguous(f"the signature is for {scope.service}, and the address is one of S3")
    return _of_service(read_call, headers, body, form, scope, wires)


def _require_agreement(host: AwsHost, scope: Scope) -> None:
    service = _S3 if host.service is None else host.service.name
    if scope.service != service:
        raise _ambiguous(f"the host is one of {service}, and the signature is for {scope.service}")
    if None not in (host.region, scope.region) and host.region != scope.region:
        raise _ambiguous(f"the host is in {host.region}, and the signature is for {scope.region}")


def _of_s3(
    read_call: ReadCall,
    headers: Headers,
    body: Body,
    form: Pairs,
    scope: Scope,
    *,
    bucket: str | None,
    folds_slashes: bool,
) -> AwsRequest:
    if _names_operation(read_call, headers, ()):
        raise _ambiguous("it is a request to S3 and names an operation of another service")
    call = read_call.call
    read = read_s3(call.method, call.path, read_call.query, headers.shown, bucket=bucket, folds_slashes=folds_slashes)
    key = read.key
    if read.operation == "PostObject":
        read, key = _posted(read, body)
    return _request(scope, read.operation, call.method, bucket=read.bucket, key=key, copy_source=read.copy_source)


def _posted(read: S3Call, body: Body) -> tuple[S3Call, str | None]:
    """An upload by a form, whose field says the key (Amazon S3, "POST Object")."""
    keys = [value for name, value in body.pairs if name.lower() == "key"]
    if body.kind is not BodyKind.MULTIPART:
        return S3Call(None, read.bucket, None), None
    if len(keys) != 1 or not isinstance(keys[0], str):
        # One with the name of a file counts as a field at some servers.
        raise _ambiguous("the form that uploads has not exactly one field key, of text")
    return read, None if _FILE_NAME in keys[0] else keys[0]


def _of_service(
    read_call: ReadCall, headers: Headers, body: Body, form: Pairs, scope: Scope, wires: frozenset[Wire]
) -> AwsRequest:
    fields = form if body.kind is BodyKind.FORM else ()
    named = _names_operation(read_call, headers, fields)
    if len(named) > 1:
        raise _ambiguous(f"it names an operation in several ways: {', '.join(sorted(named))}")
    operation = None
    for wire in named:
        # In a body of another kind a server may find another name.
        if wire in wires and body.kind in _KINDS[wire]:
            operation = _READERS[wire](read_call, headers, fields)
    return _request(scope, operation, read_call.call.method)


def _names_operation(read_call: ReadCall, headers: Headers, fields: Pairs) -> set[Wire]:
    """In whichever spelling, so that none is overlooked that a server may obey."""
    members = {name.lower() for name in read_call.query} | {name.lower() for name, _ in fields}
    found = set()
    if _TARGET in headers.shown or _TARGET in members:
        found.add(Wire.JSON)
    if _ACTION in members:
        found.add(Wire.QUERY)
    if _CBOR_MARK in headers.shown or read_call.path.lower().startswith(_CBOR_START):
        found.add(Wire.CBOR)
    return found


def _json_operation(read_call: ReadCall, headers: Headers, fields: Pairs) -> str | None:
    target = headers.shown.get(_TARGET)
    if isinstance(target, list):
        raise _ambiguous("the header X-Amz-Target is there more than once")
    match = _TARGET_VALUE.fullmatch(target) if isinstance(target, str) else None
    is_plain = read_call.call.method == "POST" and read_call.call.path == "/" and not read_call.query
    return match["operation"] if match is not None and is_plain else None


def _query_operation(read_call: ReadCall, headers: Headers, fields: Pairs) -> str | None:
    values = [value for name, values in read_call.query.items() if name.lower() == _ACTION for value in _texts(values)]
    values += [value for name, value in fields if name.lower() == _ACTION]
    if len(values) != 1:
        raise _ambiguous("the member Action is there more than once")
    is_exact = "Action" in read_call.query or any(name == "Action" for name, _ in fields)
    path = read_call.call.path
    is_plain = read_call.call.method in ("GET", "POST") and (path == "/" or _QUEUE.fullmatch(path) is not None)
    return values[0] if is_exact and is_plain and _OPERATION.fullmatch(values[0]) is not None else None


def _cbor_operation(read_call: ReadCall, headers: Headers, fields: Pairs) -> str | None:
    match = _CBOR_PATH.fullmatch(read_call.call.path)
    is_plain = (
        read_call.call.method == "POST" and headers.shown.get(_CBOR_MARK) == "rpc-v2-cbor" and not read_call.query
    )
    return match["operation"] if match is not None and is_plain else None


_READERS: Final = MappingProxyType(
    {Wire.JSON: _json_operation, Wire.QUERY: _query_operation, Wire.CBOR: _cbor_operation}
)


_KINDS: Final = MappingProxyType(
    {
        Wire.JSON: frozenset({BodyKind.NONE, BodyKind.JSON}),
        Wire.QUERY: frozenset({BodyKind.NONE, BodyKind.FORM}),
        Wire.CBOR: frozenset({BodyKind.NONE, BodyKind.OPAQUE}),
    }
)


def _request(
    scope: Scope,
    operation: str | None,
    method: str,
    *,
    bucket: str | None = None,
    key: str | None = None,
    copy_source: JsonObject | None = None,
) -> AwsRequest:
    facts: JsonObject = {
        "service": scope.service,
        "operation": operation,
        "region": scope.region,
        "bucket": bucket,
        "key": key,
        "copy_source": copy_source,
        "presigned": scope.presigned,
    }
    name = f"{scope.service}_{_HUMP.sub('_', operation or _UNKNOWN)}".lower().replace("-", "_")
    return AwsRequest(fit_name(name), _effect(scope.service, operation, method), facts)


def _effect(service: str, operation: str | None, method: str) -> Effect:
    if operation is None:
        return Effect.DESTRUCTIVE if method == "DELETE" else Effect.WRITE
    return effect_of(service, operation)


def _form(body: Body) -> Pairs:
    """Fields that are text, of either kind of form."""
    return tuple((name, value) for name, value in body.pairs if isinstance(value, str))


def _texts(values: object) -> Sequence[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the AWS request can be read in more than one way: {reason}", details={"field": "headers"}
    )
