"""A GraphQL document (spec.graphql.org, October 2021), read for what it runs: operations and their root fields.

Parsed by graphql-core, the port of the reference implementation that most servers run, within bounds on text, tokens
and nesting. What may run counts: fragments are followed whatever their type condition, and ``@skip`` and ``@include``
leave nothing out, since a field that is counted and does not run is harmless and the other way round is not. What a
server's validation would refuse and another server might run (two fragments of one name, one response key for two
fields) is refused here.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from graphql.error import GraphQLError
from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    Lexer,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    SelectionNode,
    Source,
    TokenKind,
    TypeNode,
    ValueNode,
    VariableDefinitionNode,
    parse,
    print_ast,
)

from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError
from headgate.kernel.short_key_cache import short_key_cache
from headgate.protocols.graphql_operation import DeclaredVariable, Operation, OperationKind, RootField

TEXT_CHARACTERS_MAX: Final = 64 << 10
TOKENS_MAX: Final = 2_000
"""Reading so many takes some 40 ms; the documents of code generators have a few hundred."""
NESTING_MAX: Final = 64
_CACHED_CHARACTERS_MAX: Final = 4 << 10
_CACHED_DOCUMENTS: Final = 128
_QUOTED_MAX: Final = 160
_OPENING: Final = (TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L)
_CLOSING: Final = (TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R)


def read_graphql_document(text: str) -> tuple[Operation, ...]:
    """The operations of ``text``. Raises AmbiguousRequestError and PayloadTooLargeError, and nothing else."""
    return _read(text)


def refuse(reason: str) -> AmbiguousRequestError:
    """What is said of a document that can be read in no way, or in more than one."""
    return AmbiguousRequestError(f"the GraphQL document: {reason}", details={"field": "query"})


@short_key_cache(_CACHED_DOCUMENTS, _CACHED_CHARACTERS_MAX)
def _read(text: str) -> tuple[Operation, ...]:
    if len(text) > TEXT_CHARACTERS_MAX:
        raise PayloadTooLargeError(
            f"the GraphQL document is longer than {TEXT_CHARACTERS_MAX} characters: send values as variables",
            details={"field": "query", "max_count": TEXT_CHARACTERS_MAX},
        )
    document = _parse(text)
    fragments: dict[str, FragmentDefinitionNode] = {}
    operations: list[OperationDefinitionNode] = []
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            operations.append(definition)
        elif not isinstance(definition, FragmentDefinitionNode):
            raise refuse("defines types, which no request does")
        elif fragments.setdefault(definition.name.value, definition) is not definition:
            raise refuse(f"the fragment {definition.name.value[:80]} is defined twice")
    if not operations:
        raise refuse("holds no operation")
    names = [None if one.name is None else one.name.value for one in operations]
    if len(set(names)) < len(names) or (None in names and len(names) > 1):
        raise refuse("operations beside others need names of their own")
    return tuple(_operation(one, fragments) for one in operations)


def _parse(text: str) -> DocumentNode:
    try:
        if sum(map(text.count, "{[(")) > NESTING_MAX:
            _check_nesting(text)
        return parse(text, no_location=True, max_lexical_tokens=TOKENS_MAX, max_comments=TOKENS_MAX)
    except GraphQLError as error:
        raise refuse(error.message[:_QUOTED_MAX]) from error
    except (RecursionError, ValueError) as error:
        raise refuse("cannot be read") from error


def _check_nesting(text: str) -> None:
    """Before the parser, which recurses: brackets in strings and comments are none."""
    lexer, depth, count = Lexer(Source(text)), 0, 0
    while (token := lexer.advance()).kind is not TokenKind.EOF:
        count += 1
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if depth > NESTING_MAX:
            raise refuse(f"is nested more than {NESTING_MAX} deep")
        if count > TOKENS_MAX:
            raise refuse(f"has more than {TOKENS_MAX} tokens")


def _operation(node: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]) -> Operation:
    variables: dict[str, DeclaredVariable] = {}
    for definition in node.variable_definitions:
        variable = _variable(definition)
        if variables.setdefault(variable.name, variable) is not variable:
            raise refuse(f"the variable {variable.name[:80]} is declared twice")
    return Operation(
        OperationKind(node.operation.value),
        None if node.name is None else node.name.value,
        MappingProxyType(variables),
        tuple(_root_fields(node, fragments)),
    )


def _variable(definition: VariableDefinitionNode) -> DeclaredVariable:
    declared: TypeNode = definition.type
    default = definition.default_value
    is_required = isinstance(declared, NonNullTypeNode)
    is_list = False
    while not isinstance(declared, NamedTypeNode):
        is_list = is_list or isinstance(declared, ListTypeNode)
        if not isinstance(declared, NonNullTypeNode | ListTypeNode):
            raise refuse("declares a variable of no type")
        declared = declared.type
    return DeclaredVariable(
        definition.variable.name.value, declared.name.value, is_list, is_required and default is None, default
    )


def _root_fields(node: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]) -> list[RootField]:
    """Like CollectFields (section 6.3.2), but for what would leave a field out."""
    found: dict[str, RootField] = {}
    followed: set[str] = set()
    waiting: list[Iterator[SelectionNode]] = [iter(node.selection_set.selections)]
    while waiting:
        selection = next(waiting[-1], None)
        match selection:
            case None:
                waiting.pop()
            case InlineFragmentNode():
                waiting.append(iter(selection.selection_set.selections))
            case FragmentSpreadNode():
                name = selection.name.value
                if name not in fragments:
                    raise refuse(f"the fragment {name[:80]} is not defined")
                if name not in followed:
                    followed.add(name)
                    waiting.append(iter(fragments[name].selection_set.selections))
            case FieldNode():
                field = _root_field(selection)
                same = found.setdefault(field.key, field)
                if (same.name, same.written) != (field.name, field.written):
                    raise refuse(f"{field.key[:80]} stands for two different fields")
            case _:
                raise refuse("selects something that is neither a field nor a fragment")
    return list(found.values())


def _root_field(node: FieldNode) -> RootField:
    arguments: dict[str, ValueNode] = {}
    for argument in node.arguments:
        if arguments.setdefault(argument.name.value, argument.value) is not argument.value:
            raise refuse(f"the argument {argument.name.value[:80]} is given twice")
    name = node.name.value
    written = "\n".join(f"{one}: {print_ast(arguments[one])}" for one in sorted(arguments))
    return RootField(name if node.alias is None else node.alias.value, name, MappingProxyType(arguments), written)
