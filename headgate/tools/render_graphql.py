"""The body of a GraphQL call that Headgate makes: the entry's document, the params as its variables."""

from headgate.kernel.canonical_json import JsonObject
from headgate.tools.model import GraphqlRoot
from headgate.tools.unrendered import invalid


def graphql_content(root: GraphqlRoot, params: JsonObject) -> JsonObject:
    """Raises ValidationError for an argument that is missing, and for a param that is no argument: a server would never
    see it, and a policy would."""
    for name in params:
        if name not in root.variables:
            raise invalid(name, f"is no argument of {root.field} that its catalogue sends")
    for name, variable in root.variables.items():
        if variable.is_required and name not in params:
            raise invalid(name, f"is missing: {root.field} needs it")
    return {"query": root.text, "variables": params}
