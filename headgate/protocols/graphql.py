"""GraphQL over HTTP (GraphQL-over-HTTP, working draft, sections 4 and 5): which fields of which operation a call runs.

A server that reads the same bytes in another way is the attack: text in the URL and in the body, members that name a
stored document beside the text, a list of requests, several operations and no word on which. All are refused. A request
without text (a stored document, by whatever name) says nothing of what it runs: None.
"""

import hashlib
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.graphql_document import read_graphql_document, refuse
from headgate.protocols.graphql_operation import Operation, OperationKind
from headgate.protocols.graphql_values import BoundValues
from headgate.protocols.member_names import refuse_other_spellings, spellings
from headgate.protocols.query import Pairs

_MEMBERS: Final = frozenset({"query", "operationName", "variables", "extensions"})
_SPELLINGS: Final = spellings(*_MEMBERS)
_STORED: Final = spellings("persistedQuery", "version", "sha256Hash")
_IN_JSON: Final = ("variables", "extensions")
_TYPENAME: Final = "__typename"


class GraphqlField(Struct, frozen=True):
    """A root field by its own name, whatever its alias, with its arguments as JSON."""

    name: str
    arguments: JsonObject


class GraphqlRequest(Struct, frozen=True):
    """``fields``: at least one, in order."""

    kind: OperationKind
    fields: tuple[GraphqlField, ...]


def read_graphql(method: str, query: Pairs, body: Body) -> GraphqlRequest | None:
    """``body`` was read as JSON. None: there is no text. Raises AmbiguousRequestError and PayloadTooLargeError."""
    members = _from_body(query, body) if method == "POST" else _from_query(query, body)
    refuse_other_spellings(members, _SPELLINGS, within="GraphQL request")
    text = members.get("query")
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise _ambiguous("query", "is no text")
    if unknown := sorted(members.keys() - _MEMBERS):
        raise _ambiguous(unknown[0][:80], "beside query, which may name another document")
    _check_stored_digest(members.get("extensions"), text)
    operation = _executed(read_graphql_document(text), members.get("operationName"))
    variables = members.get("variables")
    if variables is not None and not isinstance(variables, dict):
        raise _ambiguous("variables", "are no object")
    values = BoundValues(operation, variables or {})
    # __typename runs nothing; clients add it to whatever they ask for.
    fields = [one for one in operation.fields if one.name != _TYPENAME] or operation.fields
    return GraphqlRequest(operation.kind, tuple(GraphqlField(one.name, values.arguments(one)) for one in fields))


def _from_body(query: Pairs, body: Body) -> JsonObject:
    if query:
        raise _ambiguous(query[0][0][:80], "in the URL of a POST: servers differ in whether it counts")
    if body.kind is BodyKind.NONE:
        return {}
    if isinstance(body.value, list):
        raise _ambiguous("body", "is a list of requests: send one in each call")
    if not isinstance(body.value, dict):
        raise _ambiguous("body", "is no object")
    return body.value


def _from_query(query: Pairs, body: Body) -> JsonObject:
    if body.kind is not BodyKind.NONE:
        raise _ambiguous("body", "in a GET: servers differ in whether it counts")
    members: JsonObject = {}
    for name, value in query:
        if name in members:
            raise _ambiguous(name[:80], "is there twice")
        members[name] = _parse(name, value) if name in _IN_JSON else value
    return members


def _parse(name: str, value: str) -> JsonValue:
    try:
        return parse_strict(value.encode()) if value else None
    except ValidationError as error:
        raise _ambiguous(name, error.message) from error


def _executed(operations: tuple[Operation, ...], name: JsonValue) -> Operation:
    """GetOperation (section 6.1). An empty name is none to some servers, and the name of no operation to others."""
    if name is not None and not isinstance(name, str):
        raise _ambiguous("operationName", "is no text")
    if not name:
        if len(operations) > 1:
            raise refuse("holds several operations, and operationName does not say which")
        return operations[0]
    for operation in operations:
        if operation.name == name:
            return operation
    raise refuse(f"holds no operation called {name[:80]}")


def _check_stored_digest(extensions: JsonValue, text: str) -> None:
    """Text beside the digest of a stored document is how that is stored: it must be the digest of this text."""
    if extensions is None:
        return
    if not isinstance(extensions, dict):
        raise _ambiguous("extensions", "are no object")
    refuse_other_spellings(extensions, _STORED, within="GraphQL request")
    stored = extensions.get("persistedQuery")
    if stored is None:
        return
    refuse_other_spellings(stored, _STORED, within="GraphQL request")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if not isinstance(stored, dict) or stored.get("sha256Hash") != digest:
        raise _ambiguous("extensions", "name a stored document that is not the one in query")


def _ambiguous(field: str, reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(f"the GraphQL request: {field}: {reason}", details={"field": field})
