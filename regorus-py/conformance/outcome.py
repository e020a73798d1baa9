"""What one case came to, and in which direction it differs from OPA's answer."""

import json
from dataclasses import dataclass
from enum import StrEnum

from regorus import EvaluationError, RegoError, parse_json
from regorus._engine import evaluate_case

from conformance.cases import Case


class Kind(StrEnum):
    """The directions, from harmless to harmful: only the last two could let something pass."""

    SAME = "same"
    REFUSED = "refused"
    """Refused when it is created, with line and column."""
    ERROR = "error"
    """An error where OPA has a value or nothing: a policy denies."""
    VALUE_FOR_ERROR = "value for error"
    """A value, or nothing, where OPA has an error."""
    OTHER_VALUE = "other value"
    """Another value, or nothing where OPA has one, or the other way round."""


@dataclass(frozen=True)
class Outcome:
    """Of one case."""

    id: str
    kind: Kind
    detail: str


OUR_OWN = ("is not available", "unknown function", "nested more than", "overlaps")
"""Refusals that are no agreement with OPA, whatever it says."""


def run(case: Case) -> Outcome:
    """Evaluates one case and compares."""
    try:
        answer = evaluate(case, strict=case.strict)
    except RegoError as error:
        same = case.want_error and not any(words in error.message for words in OUR_OWN)
        return Outcome(case.id, Kind.SAME if same else Kind.REFUSED, error.message)
    except EvaluationError as error:
        same = case.want_error and error.kind == "error" and "could not find function" not in error.reason
        return Outcome(case.id, Kind.SAME if same else Kind.ERROR, error.reason)
    if case.want_error:
        return Outcome(case.id, Kind.VALUE_FOR_ERROR, answer.decode())
    got, wanted = parse_json(answer), case.want_result or []
    if canonical(got, case) == canonical(wanted, case):
        return Outcome(case.id, Kind.SAME, "")
    try:
        evaluate(case, strict=True)
    except EvaluationError as error:  # as in a policy, where the error of a builtin is never nothing
        return Outcome(case.id, Kind.ERROR, error.reason)
    return Outcome(case.id, Kind.OTHER_VALUE, f"{answer.decode()}, not {json.dumps(wanted)}")


def evaluate(case: Case, *, strict: bool) -> bytes:
    """The results, as JSON. A query without modules is made the body of a rule, where policies have theirs."""
    modules = [(f"case{index}.rego", text) for index, text in enumerate(case.modules)]
    query = case.query
    if not modules and case.want_result:
        members = ", ".join(f'"{name}": {name}' for name in sorted(case.want_result[0]))
        modules = [("query.rego", f"package query\n\nresults contains {{{members}}} if {{\n{query}\n}}\n")]
        query = "data.query.results[_]"
    return evaluate_case(query, modules, data=case.data, input=case.input, input_term=case.input_term, strict=strict)


def canonical(results: object, case: Case) -> object:
    """Numbers by value; bindings that are sets in any order where the case says so; results in any order."""
    if not isinstance(results, list):
        return results
    plain = [number_free(result) for result in results]
    if case.sort_bindings:
        plain = [
            {name: sorted(value, key=key) if isinstance(value, list) else value for name, value in result.items()}
            for result in plain
            if isinstance(result, dict)
        ]
    return sorted(plain, key=key)


def number_free(value: object) -> object:
    """With each number as the pair of its kind and value, so that true is not 1, and 1.0 is."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return ["number", int(value) if value == int(value) else value]
    if isinstance(value, list):
        return [number_free(item) for item in value]
    if isinstance(value, dict):
        return {name: number_free(member) for name, member in value.items()}
    return value


def key(value: object) -> str:
    """An order for anything."""
    return json.dumps(value, sort_keys=True)
