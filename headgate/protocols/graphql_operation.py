"""What a GraphQL document runs (spec.graphql.org, October 2021): operations and their root fields.

Apart from ``graphql_document``, which reads them: catalogues name these types where there is no document to parse.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from graphql.language import ValueNode


class OperationKind(StrEnum):
    QUERY = "query"
    MUTATION = "mutation"
    SUBSCRIPTION = "subscription"


class DeclaredVariable(Struct, frozen=True):
    """``default`` None: none. ``is_required``: without a value there is nothing to run."""

    name: str
    type_name: str
    is_list: bool
    is_required: bool
    default: "ValueNode | None"


class RootField(Struct, frozen=True):
    """``key``: the alias where there is one. ``arguments``: as they are written, variables included."""

    key: str
    name: str
    arguments: "Mapping[str, ValueNode]"
    written: str


class Operation(Struct, frozen=True):
    """``fields``: every root field that may run, in order."""

    kind: OperationKind
    name: str | None
    variables: Mapping[str, DeclaredVariable]
    fields: tuple[RootField, ...]
