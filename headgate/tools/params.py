"""From a matched call to params: path variables, query members and body members, all of them.

Policies see everything that the call says, each value under its own name. Two sources for one name are
refused, never ranked: whichever won, the other could hide a value from a policy.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.member_names import refuse_names_alike, refuse_other_spellings, spellings
from headgate.protocols.query import Pairs
from headgate.tools.model import Entry, SegmentKind

_WHOLE_BODY: Final = "body"


def map_params(entry: Entry, values: Sequence[str], query: Pairs, body: Body, headers: JsonObject) -> JsonObject:
    """``values``: the raw path variables in order. Raises AmbiguousRequestError."""
    params = path_variables(entry, values)
    sources = [("query", _members(query, entry, "query"), entry.mapping.rename_query)] if query else []
    if body.kind is not BodyKind.NONE:
        sources.append(("body", _body_members(body, entry), entry.mapping.rename_body))
    if entry.mapping.headers:
        sources.append(
            ("headers", {n: headers[n] for n in entry.mapping.headers if n in headers}, entry.mapping.headers)
        )
    for field, members, renamed in sources:
        for name, value in members.items():
            target = renamed.get(name, name)
            if target in params:
                raise AmbiguousRequestError(
                    f"{target[:80]} is given twice, the second time in the {field}: servers differ in which counts",
                    details={"field": field},
                )
            params[target] = value
    return with_case_folded(entry, params)


def with_case_folded(entry: Entry, params: JsonObject) -> JsonObject:
    """Those that the API compares without regard to case, in lower case."""
    folded = {name: params[name] for name in entry.mapping.fold_case.intersection(params)}
    return params | {name: value.lower() for name, value in folded.items() if isinstance(value, str)}


def with_host_param(params: JsonObject, name: str, entry: Entry, host: str) -> JsonObject:
    """What stands for ``*`` in the host, under the catalogue's name for it. Raises AmbiguousRequestError."""
    for pattern in entry.hosts:
        if pattern.startswith("*.") and host.endswith(pattern[1:]):
            if name in params:
                raise AmbiguousRequestError(f"{name} is the account, and a member too", details={"field": name})
            return {name: host.removesuffix(pattern[1:]), **params}
    return params


def path_variables(entry: Entry, values: Sequence[str]) -> JsonObject:
    """``values``: as they stand in the path, in order."""
    params: JsonObject = {}
    variables = [segment for segment in entry.path if segment.kind is not SegmentKind.LITERAL]
    for segment, value in zip(variables, values, strict=True):
        if segment.kind is SegmentKind.INTEGER:
            params[segment.text] = int(value)
        else:
            params[segment.text] = unquote(value, errors="strict") if "%" in value else value
    return params


def _body_members(body: Body, entry: Entry) -> JsonObject:
    """The members of an object or a form; everything else is one member called ``body``."""
    if body.kind is BodyKind.JSON and isinstance(body.value, dict):
        refuse_names_alike(body.value, within="body")
        refuse_other_spellings(body.value, spellings(*entry.mapping.rename_body), within="body")
        return body.value
    if body.kind in (BodyKind.FORM, BodyKind.MULTIPART):
        return _members(body.pairs, entry, "body")
    return {_WHOLE_BODY: body.value}


def _members(pairs: Sequence[tuple[str, JsonValue]], entry: Entry, field: str) -> JsonObject:
    """Repeated names are lists where the catalogue (or PHP's and Rails' ``[]``) says so, else refused."""
    members: JsonObject = {}
    for name, value in pairs:
        if name in entry.mapping.repeated or name.endswith("[]"):
            present = members.get(name)
            members[name] = [*present, value] if isinstance(present, list) else [value]
        elif name in members:
            raise AmbiguousRequestError(
                f"{name[:80]} is there more than once in the {field}: servers differ in which one counts",
                details={"field": field},
            )
        else:
            members[name] = value
    return members
