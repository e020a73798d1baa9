"""Whether a call meets the conditions of a catalogue's entry (``when``): the stricter entry of two at one path.

Servers read ``"true"``, ``1`` and ``on`` as true, and take a member from the query as from the body. So a value meets a
condition where some server reads it so, and what stands elsewhere than the catalogue says is refused. Pure.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import Body, BodyKind
from headgate.protocols.member_names import all_folded, folded, refuse_other_spellings, spellings
from headgate.tools.model import Conditions

_TRUE: Final = frozenset({"true", "t", "1", "on", "yes", "y"})
_FALSE: Final = frozenset({"false", "f", "0", "off", "no", "n", "null", "nil", ""})


def hold(conditions: Conditions, query: Mapping[str, JsonValue], members: Mapping[str, JsonValue]) -> bool:
    """``query``: the lists of values by name; ``members``: of the body. Values are compared as lenient servers do."""
    return all(name in query and _may_mean(query[name], value) for name, value in conditions.query.items()) and all(
        name in members and _may_mean(members[name], value) for name, value in conditions.body.items()
    )


def refuse_misplaced(several: Iterable[Conditions], query: Mapping[str, JsonValue], body: Body) -> None:
    """``several``: of the entries at one path.

    Raises AmbiguousRequestError: a member that one of them names stands where it does not look, in another spelling
    or below brackets, or in a body that cannot be read.
    """
    members, asked = members_of(body), dict(query)
    for conditions in several:
        refuse_other_spellings(members, spellings(*conditions.body), within="body")
        refuse_other_spellings(asked, spellings(*conditions.query), within="query")
        _refuse_elsewhere(conditions.body, query, here="query", there="body")
        _refuse_elsewhere(conditions.query, members, here="body", there="query")
        _refuse_brackets(conditions.body, members, field="body")
        _refuse_brackets(conditions.query, query, field="query")
        if conditions.body and body.kind in (BodyKind.TEXT, BodyKind.OPAQUE):
            raise AmbiguousRequestError(
                f"the body may hold {min(conditions.body)}, and cannot be read: send it as JSON or as a form",
                details={"field": "body"},
            )


def members_of(body: Body) -> JsonObject:
    """None of them where it is neither an object nor a form."""
    if body.pairs:
        return dict(body.pairs)
    return body.value if isinstance(body.value, dict) else {}


def _refuse_elsewhere(names: Collection[str], holder: Iterable[str], *, here: str, there: str) -> None:
    wanted = all_folded(names)
    for name in holder if wanted else ():
        if folded(name.partition("[")[0]) in wanted:
            raise AmbiguousRequestError(
                f"some servers read {name[:80]} in the {here}, others in the {there}: send it in the {there}",
                details={"field": here},
            )


def _refuse_brackets(names: Collection[str], holder: Iterable[str], *, field: str) -> None:
    wanted = all_folded(names)
    for name in holder if wanted else ():
        base, bracket, _ = name.partition("[")
        if bracket and folded(base) in wanted:
            raise AmbiguousRequestError(
                f"some servers read {name[:80]} as {base[:80]}: send it without brackets", details={"field": field}
            )


def _may_mean(sent: JsonValue, wanted: JsonValue) -> bool:
    """Whether some server reads ``sent`` as ``wanted``."""
    if isinstance(sent, list) and not isinstance(wanted, list):
        return any(_may_mean(one, wanted) for one in sent)
    if isinstance(wanted, bool):
        read = _truth(sent)
        return read is None or read is wanted
    if isinstance(wanted, list | dict) or isinstance(sent, dict):
        return sent == wanted
    return _text(sent) == _text(wanted)


def _truth(sent: JsonValue) -> bool | None:
    """None: servers differ."""
    if sent is None or isinstance(sent, bool):
        return bool(sent)
    if isinstance(sent, int | float):
        return sent != 0
    if not isinstance(sent, str):
        return None
    text = sent.strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _text(value: JsonValue) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "1", False: "0", None: ""}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip().casefold()
    return {"true": "1", "false": "0", "null": ""}.get(text, text)
