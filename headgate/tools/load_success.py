"""The member ``success`` of a catalogue and of its entries: what the body says of a call that succeeded."""

from typing import Final

from headgate.configuration.yaml_document import Section
from headgate.kernel.canonical_json import JsonObject
from headgate.tools.model import GraphqlRoot, Success

_NONE: Final = "none"
_GRAPHQL_ERRORS: Final = ("errors",)


def read_success(entry: Section, catalogue: Section, root: GraphqlRoot | None) -> Success | None:
    """What the entry says goes before what the catalogue says of all. Raises ValidationError.

    An answer of GraphQL that holds ``errors`` is none of success whatever its status (spec.graphql.org, October 2021,
    section 7.1); ``body`` is there about the root field's own result.
    """
    said = entry if "success" in entry.members else catalogue
    body: JsonObject = {}
    if said.members.get("success", _NONE) != _NONE:
        success = said.section("success")
        success.only("body")
        body = success.section("body").members
        if not body:
            raise success.fail("body", "at least one member is required")
    if root is not None:
        return Success({"data": {root.field: body}} if body else {}, _GRAPHQL_ERRORS)
    return Success(body) if body else None
