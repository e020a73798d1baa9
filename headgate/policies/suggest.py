"""Suggests a policy from recorded actions: it allows what was executed, and nothing else. Pure.

Calls are of one kind if agent, tool, operation and, if Headgate makes the call, method, scheme, host and port are
equal. With precision ``exact`` a kind allows the exact params (and path, query and body) that were seen. With
``fields``, each param takes the values seen, numbers the range between, and texts that vary too much any text; comments
state this. Kinds that cannot be described or are too rare are left out, and comments state that too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.policies.model import REGO_MAX_BYTES
from headgate.policies.seen_calls import SENT_PARTS, VARIANTS_MAX, CallKind, SeenCall, kinds_of, object_of

_VALUES_MAX: Final = 10
_ALLOW: Final[JsonObject] = {"decision": "allow"}
_NOTHING: Final[JsonObject] = {"decision": "none"}
_DEEPEST: Final = 4
_TEXT_MAX_BYTES: Final = REGO_MAX_BYTES * 3 // 4
_CASES_MAX: Final = 200


class Precision(StrEnum):
    EXACT = "exact"
    FIELDS = "fields"


class Suggestion(Struct, frozen=True):
    """``cases`` are in the form of ``headgate policy test``. ``covered``: how many of the seen calls it allows."""

    rego_policy: str
    cases: list[JsonValue]
    seen: int
    covered: int
    leaves_out: list[str]
    leaves_open: list[str]


def suggest(calls: Iterable[SeenCall], *, name: str, precision: Precision, seldom: int) -> Suggestion:
    """``seldom``: kinds seen fewer times than this are left out."""
    kinds = kinds_of(calls)
    leaves_out: list[str] = []
    leaves_open: list[str] = []
    blocks: list[str] = []
    cases: list[JsonValue] = []
    covered, size = 0, 0
    ordered = sorted(kinds, key=lambda kind: (-kind.count, kind.title))
    for kind in ordered:
        reason = _why_not(kind, precision, seldom)
        block = "" if reason else _block(kind, precision)
        if reason is None and size + len(block.encode()) > _TEXT_MAX_BYTES:
            reason = "the policy would become too long"
        if reason is not None:
            leaves_out.append(f"{kind.title}, {kind.count} calls: {reason}")
            continue
        blocks.append(block)
        size += len(block.encode())
        covered += kind.count
        if precision is Precision.FIELDS:
            leaves_open += _open(kind)
        if len(cases) < _CASES_MAX:
            cases.append({"name": f"seen: {kind.title} ({len(cases) + 1})", "input": kind.example, "expect": _ALLOW})
    agents = {kind.agent_id: kind.agent_name for kind in ordered}
    cases += _strangers(cases)
    return Suggestion(
        _text(name, agents, blocks, precision),
        cases,
        sum(kind.count for kind in ordered),
        covered,
        leaves_out,
        leaves_open,
    )


def _why_not(kind: CallKind, precision: Precision, seldom: int) -> str | None:
    if kind.count < seldom:
        return f"seen fewer than {seldom} times"
    if kind.masked:
        return "secrets in it were masked when it was recorded, so that what is allowed cannot be said"
    if precision is Precision.EXACT and len(kind.variants) > VARIANTS_MAX:
        return f"more than {VARIANTS_MAX} different ones: none would be pinned down (precision fields gives ranges)"
    if precision is Precision.EXACT and any(_depth(variant) > _DEEPEST for variant in kind.variants.values()):
        return "its params are nested too deep to be listed"
    if precision is Precision.FIELDS and kind.call and _varies(kind, "path"):
        return f"more than {VARIANTS_MAX} different paths, queries and bodies: none would be pinned down"
    return None


def _varies(kind: CallKind, part: str) -> bool:
    """The path is the destination within a host: list it or leave the kind out, at any precision."""
    return len(kind.variants) > VARIANTS_MAX and any(part in variant for variant in kind.variants.values())


def _block(kind: CallKind, precision: Precision) -> str:
    lines = [
        f"input.agent.id == {_literal(kind.agent_id)}",
        f"input.tool == {_literal(kind.tool)}",
        f"input.operation == {_literal(kind.operation)}",
    ]
    lines += [f"input.http.{name} == {_literal(value)}" for name, value in kind.call.items()]
    if not kind.call:
        lines.append("not input.http")
    if precision is Precision.EXACT:
        lines += _exact(kind)
    else:
        lines += _fields(kind)
    title = f"# {kind.title}: seen {_times(kind.count)}\n"
    return title + "allow if {\n" + "".join(f"\t{line}\n" for line in lines) + "}\n"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _exact(kind: CallKind) -> Iterator[str]:
    listed = [kind.variants[key] for key in sorted(kind.variants)]
    sent = "input.params"
    if kind.call:
        parts = ", ".join(f'"{name}": input.http.{name}' for name in SENT_PARTS if name in listed[0])
        sent = f'{{"params": input.params, {parts}}}'
        yield f"{sent} in {_array(listed)}"
    else:
        yield f"{sent} in {_array([variant['params'] for variant in listed])}"


def _fields(kind: CallKind) -> Iterator[str]:
    if kind.call:
        sent = [
            {name: variant[name] for name in ("path", "query") if name in variant} for variant in kind.variants.values()
        ]
        unique = [json.loads(text) for text in sorted({canonical_bytes(one) for one in sent})]
        yield f'{{"path": input.http.path, "query": input.http.query}} in {_array(unique)}'
    names = "{" + ", ".join(_literal(name) for name in sorted(kind.params)) + "}" if kind.params else "set()"
    yield f"object.keys(input.params) - {names} == set()"
    for name in sorted(kind.params):
        is_optional = name not in (kind.always or set())
        reference = (
            f"object.get(input.params, {_literal(name)}, null)" if is_optional else f"input.params[{_literal(name)}]"
        )
        values = [json.loads(one) for one in sorted(kind.params[name])]
        yield from _field(reference, values, is_optional=is_optional)


def _field(reference: str, values: list[JsonValue], *, is_optional: bool) -> Iterator[str]:
    if len(values) <= _VALUES_MAX and all(_depth(value) <= _DEEPEST for value in values):
        yield f"{reference} in {_array([*values, None] if is_optional and None not in values else values)}"
        return
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) == len(values) and not is_optional:
        yield f"is_number({reference})"
        yield f"{reference} >= {_literal(min(numbers))}"
        yield f"{reference} <= {_literal(max(numbers))}"
        return
    longest = max((len(one) for one in values if isinstance(one, str)), default=0)
    if all(isinstance(one, str) for one in values) and not is_optional:
        yield f"is_string({reference})"
        yield f"count({reference}) <= {longest}"


def _open(kind: CallKind) -> Iterator[str]:
    """The params for which unseen values are allowed too."""
    for name in sorted(kind.params):
        values = kind.params[name]
        if len(values) > _VALUES_MAX or any(_depth(json.loads(one)) > _DEEPEST for one in values):
            yield f"{kind.title}: params.{name} had {len(values)} different values; others of the kind are allowed too"


def _strangers(cases: list[JsonValue]) -> list[JsonValue]:
    """Unseen calls, which the policy does not decide."""
    if not cases:
        return []
    first = object_of(object_of(cases[0])["input"])
    return [
        {
            "name": "not seen: another agent",
            "input": {**first, "agent": {"id": "agt_00000000-0000-7000-8000-00000000ffff", "name": "stranger"}},
            "expect": _NOTHING,
        },
        {"name": "not seen: another operation", "input": {**first, "operation": "never_seen"}, "expect": _NOTHING},
        {
            "name": "not seen: another param",
            "input": {**first, "params": {**object_of(first.get("params")), "never_seen": True}},
            "expect": _NOTHING,
        },
    ]


def _text(name: str, agents: Mapping[str, str], blocks: list[str], precision: Precision) -> str:
    of = ", ".join(f"{' '.join(agent.split())} ({agent_id})" for agent_id, agent in sorted(agents.items()))
    head = (
        f"# {' '.join(name.split())}\n#\n# Made from what was carried out ({precision.value}), of {of or 'nobody'}.\n"
        "# Review it before you enforce it: agents may have done what they should not.\n"
        "package headgate.suggested\n\nimport rego.v1\n"
    )
    return "\n".join([head, *(blocks or ["# No recorded call could be described.\nallow := false\n"])])


def _array(values: Iterable[JsonValue]) -> str:
    return "[\n" + "".join(f"\t\t{_literal(value)},\n" for value in values) + "\t]"


def _literal(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _depth(value: JsonValue) -> int:
    if isinstance(value, dict):
        return 1 + max((_depth(one) for one in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((_depth(one) for one in value), default=0)
    return 0
