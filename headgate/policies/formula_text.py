"""Shows an index formula as text in Rego's notation, to explain why a policy was or was not evaluated."""

from typing import Final

from headgate.policies.formula import All, Always, Either, Field, Formula, Not, OneOf, Present

_MEMBERS: Final = {
    Field.TOOL: "input.tool",
    Field.OPERATION: "input.operation",
    Field.HOST: "input.http.host",
    Field.METHOD: "input.http.method",
}


def formula_text(formula: Formula) -> str:
    """``input.tool == "github" and not input.http.method in {"GET", "HEAD"}``; ``always``, ``never``."""
    match formula:
        case Always(value):
            return "always" if value else "never"
        case OneOf(field, values):
            return f"{_MEMBERS[field]} {_one_of(values)}"
        case Present(field):
            return f"{_MEMBERS[field]} is there"
        case Not(part):
            return f"not {_inner(part)}"
        case All(parts):
            return " and ".join(map(_inner, parts))
        case Either(parts):
            return " or ".join(map(_inner, parts))


def _inner(part: Formula) -> str:
    text = formula_text(part)
    return f"({text})" if isinstance(part, All | Either) else text


def _one_of(values: frozenset[str]) -> str:
    quoted = sorted(f'"{value}"' for value in values)
    return f"== {quoted[0]}" if len(quoted) == 1 else f"in {{{', '.join(quoted)}}}"
