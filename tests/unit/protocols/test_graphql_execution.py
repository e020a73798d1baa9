"""What a real executor runs is what was read: graphql-core's resolvers tell, for documents of every shape."""

import itertools
import json

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    GraphQLString,
    graphql_sync,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import HeadgateError
from headgate.protocols.body import BodyReading, read_body
from headgate.protocols.graphql import read_graphql

_INPUT = GraphQLInputObjectType(
    "In", {"text": GraphQLInputField(GraphQLString), "numbers": GraphQLInputField(GraphQLList(GraphQLInt))}
)
_ROOTS = ("remove", "create", "look")
type _Ran = list[tuple[str, str, JsonObject]]


def _schema(ran: _Ran) -> GraphQLSchema:
    def field() -> GraphQLField:
        def resolve(_: object, info: GraphQLResolveInfo, **arguments: JsonValue) -> str:
            ran.append((info.parent_type.name, info.field_name, arguments))
            return "done"

        return GraphQLField(
            GraphQLString,
            {
                "id": GraphQLArgument(GraphQLInt),
                "ids": GraphQLArgument(GraphQLList(GraphQLNonNull(GraphQLInt))),
                "input": GraphQLArgument(_INPUT),
            },
            resolve=resolve,
        )

    return GraphQLSchema(
        *(GraphQLObjectType(name, {root: field() for root in _ROOTS}) for name in ("Query", "Mutation"))
    )


_DIRECTIVES = st.sampled_from(
    ["", "", "@skip(if: true)", "@skip(if: $no)", "@include(if: $no)", "@include(if: $yes)", "@include(if: true)"]
)
_ARGUMENTS = st.sampled_from(
    [
        "",
        "(id: 1)",
        "(id: $n)",
        "(id: $gone)",
        "(ids: [1, 2])",
        "(ids: [$d])",
        '(input: {text: "a}{", numbers: [1, $gone]})',
        "(input: {text: $t, numbers: []})",
        '(input: {text: """\n  b\n    c"""})',
        "(input: $in, id: null)",
    ]
)
_VARIABLES = (
    '($n: Int, $gone: Int, $d: Int! = 7, $t: String = "t", $in: In, $yes: Boolean = true, $no: Boolean = false)'
)


@st.composite
def _operation(draw: st.DrawFn, name: str, kind: str) -> tuple[str, str]:
    """Its text and that of its fragments."""
    fragments: list[str] = []
    numbers = itertools.count()
    type_name = kind.capitalize()

    def selection(depth: int) -> str:
        what = draw(st.integers(0, 2 if depth else 0))
        directive = draw(_DIRECTIVES)
        if what == 1:
            return f"... {draw(st.sampled_from(['', f'on {type_name}']))} {directive} {{ {selections(depth - 1)} }}"
        if what == 2:
            fragment = f"{name}{len(fragments)}"
            fragments.append("")
            inner = selections(depth - 1)
            fragments.append(f"fragment {fragment} on {type_name} {{ {inner} }}")
            return f"...{fragment} {directive}"
        # Mostly another one each time: what has one key for two fields is refused, by the executor too.
        alias = draw(st.sampled_from(["", "a: ", *(f"{one}{next(numbers)}: " for one in (*_ROOTS, "a") * 4)]))
        return f"{alias}{draw(st.sampled_from(_ROOTS))}{draw(_ARGUMENTS)} {directive}"

    def selections(depth: int) -> str:
        return " ".join(selection(depth) for _ in range(draw(st.integers(1, 3))))

    chosen = selections(3)
    # Every variable is used, or validation would refuse the document.
    used = "x1: look(id: $n) x2: look(id: $gone) x3: look(id: $d) x4: look(input: {text: $t}) x5: look(input: $in)"
    used += " x6: look @include(if: $yes) x7: look @skip(if: $no)"
    return f"{kind} {name} {_VARIABLES} {{ {chosen} {used} }}", " ".join(fragments)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_runs_was_read(data: st.DataObject) -> None:
    operations = [data.draw(_operation(name, data.draw(st.sampled_from(["query", "mutation"])))) for name in ("A", "B")]
    text = "\n".join(part for operation in operations for part in operation)
    name = data.draw(st.sampled_from(["A", "B"]))
    variables = {"n": 5, "in": {"text": "v"}, "no": data.draw(st.booleans())}
    ran: _Ran = []
    result = graphql_sync(_schema(ran), text, variable_values=variables, operation_name=name)
    message = {"query": text, "operationName": name, "variables": variables}
    body = read_body(json.dumps(message).encode(), None, None, reading=BodyReading.JSON)
    try:
        request = read_graphql("POST", (), body)
    except HeadgateError:
        assert result.errors and not ran  # nothing is refused that an executor would have run
        return
    assert request is not None
    read = [(request.kind.value.capitalize(), one.name, one.arguments) for one in request.fields]
    for one in ran:
        assert one in read
