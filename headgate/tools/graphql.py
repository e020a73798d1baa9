"""From a GraphQL request to an action: the root field is the operation, its arguments are the params.

A request with several root fields is an action of its own, as strict as the strictest of them; one of them that nobody
has listed makes it unlisted, and so is a request without text.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import Body
from headgate.protocols.draft import ActionDraft, Effect, ReadCall, Source, below_400, make_draft
from headgate.protocols.graphql import GraphqlField, GraphqlRequest, read_graphql
from headgate.protocols.graphql_operation import OperationKind
from headgate.protocols.names import method_operation
from headgate.protocols.query import Pairs
from headgate.tools.generic import call_params
from headgate.tools.match import PathMatch
from headgate.tools.model import SEVERAL, Catalogue, Entry
from headgate.tools.params import path_variables, with_case_folded, with_host_param

_UNLISTED: Final = "unlisted_"
_STRICTEST_FIRST: Final = (Effect.DESTRUCTIVE, Effect.WRITE, None, Effect.READ)


def graphql_draft(match: PathMatch, read_call: ReadCall, query: Pairs, body: Body, catalogue: Catalogue) -> ActionDraft:
    """``body`` was read as JSON. Raises AmbiguousRequestError and PayloadTooLargeError."""
    method = read_call.call.method
    request = read_graphql(method, query, body)
    if request is None:
        # Whatever the method: a stored document may be a mutation.
        operation = method_operation(method, _UNLISTED)
        return _unlisted(operation, call_params(read_call, body), Effect.WRITE, read_call, catalogue)
    entries = [match.root(request.kind, field.name) for field in request.fields]
    listed = [(entry, field) for entry, field in zip(entries, request.fields, strict=True) if entry is not None]
    if len(listed) < len(entries):
        effect = _strictest([*(entry.effect for entry, _ in listed), _usual_effect(request, catalogue)])
        fields: list[JsonValue] = [{"name": one.name, "arguments": one.arguments} for one in request.fields]
        params = {**call_params(read_call, body), "fields": fields}
        return _unlisted(_UNLISTED + request.kind, params, effect, read_call, catalogue)
    if len(listed) == 1:
        entry, field = listed[0]
        return make_draft(
            tool=entry.tool,
            operation=entry.operation,
            params=_params(entry, match, read_call, _as_declared(entry, field), catalogue.host_param),
            source=Source.PROXY,
            read_call=read_call,
            effect=entry.effect,
            expected_status=below_400 if entry.expected_status is None else entry.expected_status.__contains__,
            catalogue_sha256=entry.sha256,
        )
    return _several(listed, match, read_call, catalogue)


def _several(
    listed: Sequence[tuple[Entry, GraphqlField]], match: PathMatch, read_call: ReadCall, catalogue: Catalogue
) -> ActionDraft:
    first = listed[0][0]
    operations: list[JsonValue] = [
        {"operation": entry.operation, "params": with_case_folded(entry, _as_declared(entry, field))}
        for entry, field in listed
    ]
    return make_draft(
        tool=catalogue.tool,
        operation=SEVERAL,
        params=_params(first, match, read_call, {"operations": operations}, catalogue.host_param),
        source=Source.PROXY,
        read_call=read_call,
        effect=_strictest(entry.effect for entry, _ in listed),
        expected_status=lambda status: all(
            below_400(status) if entry.expected_status is None else status in entry.expected_status
            for entry, _ in listed
        ),
    )


def _unlisted(
    operation: str, params: JsonObject, effect: Effect | None, read_call: ReadCall, catalogue: Catalogue
) -> ActionDraft:
    return make_draft(
        tool=catalogue.tool,
        operation=operation,
        params=params,
        source=Source.PROXY,
        read_call=read_call,
        effect=effect,
    )


def _usual_effect(request: GraphqlRequest, catalogue: Catalogue) -> Effect | None:
    if request.kind is OperationKind.MUTATION:
        return Effect.WRITE
    return Effect.READ if catalogue.unlisted_reads else None


def _strictest(effects: Iterable[Effect | None]) -> Effect | None:
    return min(effects, key=_STRICTEST_FIRST.index)


def _params(
    entry: Entry, match: PathMatch, read_call: ReadCall, arguments: JsonObject, host_param: str | None
) -> JsonObject:
    params = path_variables(entry, match.values)
    if twice := params.keys() & arguments.keys():
        raise AmbiguousRequestError(
            f"{min(twice)[:80]} is in the path, and an argument too", details={"field": "query"}
        )
    params = with_case_folded(entry, params | arguments)
    return params if host_param is None else with_host_param(params, host_param, entry, read_call.call.host)


def _as_declared(entry: Entry, field: GraphqlField) -> JsonObject:
    """One value where a list is declared is a list of one, and a number is an ID (October 2021, sections 3.5.5 and
    3.11): a server reads them so, and a policy must not have to know both spellings."""
    arguments = dict(field.arguments)
    for name, variable in () if entry.graphql is None else entry.graphql.variables.items():
        value = arguments.get(name)
        if value is None:
            continue
        values: list[JsonValue] = value if isinstance(value, list) else [value]
        if variable.type_name == "ID":
            values = [str(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in values]
        arguments[name] = values if variable.is_list or isinstance(value, list) else values[0]
    return arguments
