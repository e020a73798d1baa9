"""The members ``query``, ``mutation`` and ``document`` of a GraphQL entry: a root field, and how it is asked for."""

from typing import Final

from headgate.configuration.yaml_document import Section
from headgate.kernel.errors import HeadgateError
from headgate.protocols.draft import Effect
from headgate.protocols.graphql_document import read_graphql_document
from headgate.protocols.graphql_operation import OperationKind
from headgate.tools.model import GraphqlRoot, Protocol

_OF_REST: Final = ("method", "when", "params", "repeated", "body")
_OF_GRAPHQL: Final = (OperationKind.QUERY.value, OperationKind.MUTATION.value, "document")


def read_graphql_root(section: Section, protocol: Protocol, effect: Effect) -> GraphqlRoot | None:
    """None for the other protocols. Raises ValidationError."""
    for member in _OF_REST if protocol is Protocol.GRAPHQL else _OF_GRAPHQL:
        if member in section.members:
            raise section.fail(member, f"is no member of an entry whose protocol is {protocol}")
    if protocol is not Protocol.GRAPHQL:
        return None
    kinds = [kind for kind in (OperationKind.QUERY, OperationKind.MUTATION) if kind in section.members]
    if len(kinds) != 1:
        raise section.fail("query", "either query or mutation names the root field")
    kind, text = kinds[0], section.text("document").strip()
    field_name = section.text(kind)
    if kind is OperationKind.MUTATION and effect is Effect.READ:
        raise section.fail("effect", "a mutation is never a read")
    try:
        operations = read_graphql_document(text)
    except HeadgateError as error:
        raise section.fail("document", error.message) from error
    operation = operations[0]
    if len(operations) > 1 or operation.kind is not kind or [one.name for one in operation.fields] != [field_name]:
        raise section.fail("document", f"must be one {kind} with the root field {field_name} alone")
    field = operation.fields[0]
    if field.key != field_name:
        raise section.fail("document", "gives the root field another name")
    expected = "\n".join(f"{name}: ${name}" for name in sorted(operation.variables))
    if field.written != expected:
        raise section.fail("document", "each variable must be the argument of its name, and each argument a variable")
    return GraphqlRoot(kind, field_name, text, operation.variables)
