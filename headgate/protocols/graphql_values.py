"""The arguments of a GraphQL field as JSON, variables put in (spec.graphql.org, October 2021, sections 2.9 and 6.4.1).

An enum's value is its name, as it would be in variables. A variable without a value leaves its argument or member out,
and is null in a list. What a document makes of its variables is bounded: one of a megabyte can be named a thousand
times.
"""

import math
from collections.abc import Mapping
from typing import Final

from graphql.language import (
    BooleanValueNode,
    EnumValueNode,
    FloatValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.errors import PayloadTooLargeError, ValidationError
from headgate.protocols.graphql_document import refuse
from headgate.protocols.graphql_operation import Operation, RootField

VALUES_BYTES_MAX: Final = 10 << 20
_DIGITS_MAX: Final = 400


class BoundValues:
    """The variables of one operation with the values that a request gives them."""

    def __init__(self, operation: Operation, given: JsonObject) -> None:
        """Raises AmbiguousRequestError."""
        self._declared = operation.variables
        self._values: dict[str, JsonValue] = {}
        self._sizes: dict[str, int] = {}
        self._left = VALUES_BYTES_MAX
        for name, variable in operation.variables.items():
            if name in given:
                self._values[name] = given[name]
            elif variable.default is not None:
                self._values[name] = self._constant(variable.default)

    def arguments(self, field: RootField) -> JsonObject:
        """Raises AmbiguousRequestError; PayloadTooLargeError where variables are named again and again."""
        arguments = self._members(field.arguments)
        try:
            canonical_bytes(arguments)
        except ValidationError as error:
            raise refuse(f"an argument is not representable as JSON: {error.message}"[:200]) from error
        return arguments

    def _members(self, nodes: Mapping[str, ValueNode]) -> JsonObject:
        return {name: self._value(node) for name, node in nodes.items() if not self._is_absent(node)}

    def _is_absent(self, node: ValueNode) -> bool:
        if not isinstance(node, VariableNode):
            return False
        name = node.name.value
        if name not in self._declared:
            raise refuse(f"the variable {name[:80]} is not declared")
        return name not in self._values

    def _value(self, node: ValueNode) -> JsonValue:
        match node:
            case VariableNode():
                return None if self._is_absent(node) else self._variable(node.name.value)
            case ListValueNode():
                return [self._value(one) for one in node.values]
            case ObjectValueNode():
                members = {one.name.value: one.value for one in node.fields}
                if len(members) < len(node.fields):
                    raise refuse("a member of an argument is there twice")
                return self._members(members)
            case _:
                return _scalar(node)

    def _variable(self, name: str) -> JsonValue:
        value = self._values[name]
        if name not in self._sizes:
            self._sizes[name] = len(canonical_bytes(value))
        self._left -= self._sizes[name]
        if self._left < 0:
            raise PayloadTooLargeError(
                f"the GraphQL document makes more than {VALUES_BYTES_MAX} bytes of its variables",
                details={"field": "variables", "max_bytes": VALUES_BYTES_MAX},
            )
        return value

    def _constant(self, node: ValueNode) -> JsonValue:
        """A default value: variables have no place in it."""
        match node:
            case VariableNode():
                raise refuse("the default of a variable names a variable")
            case ListValueNode():
                return [self._constant(one) for one in node.values]
            case ObjectValueNode():
                members = {one.name.value: self._constant(one.value) for one in node.fields}
                if len(members) < len(node.fields):
                    raise refuse("a member of a default is there twice")
                return members
            case _:
                return _scalar(node)


def _scalar(node: ValueNode) -> JsonValue:
    match node:
        case NullValueNode():
            return None
        case BooleanValueNode() | StringValueNode() | EnumValueNode():
            return node.value
        case IntValueNode() | FloatValueNode() if len(node.value) > _DIGITS_MAX:
            raise refuse("a number is longer than any server reads")
        case IntValueNode():
            return int(node.value)
        case FloatValueNode() if math.isfinite(number := float(node.value)):
            return number
        case _:
            raise refuse("an argument is not a JSON value")
