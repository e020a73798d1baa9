# ruff: noqa: E501 - lines of a table
"""The table of what each case comes to, and the page made from it."""

import csv
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conformance.cases import VERSION
from conformance.outcome import Kind, Outcome

TABLE = Path(__file__).parent / "expected.csv"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rego-conformance.md"


class Why(StrEnum):
    """Why a case does not pass."""

    BLOCKED = "blocked on purpose"
    OVERLAP = "overlapping heads"
    LIMIT = "a limit of ours"
    REPLACED = "`with` and builtins"
    UNKNOWN = "builtins that are not there"
    RECURSION = "recursion seen too soon"
    NUMBERS = "numbers"
    TYPES = "types"
    EDGES = "edges of builtins"
    MEANING = "read otherwise by the engine"
    SYNTAX = "newer syntax"


EXPLAINED = {
    Why.BLOCKED: "The builtin is left out, with the reason that `regorus.blocked_builtins()` gives.",
    Why.OVERLAP: "A rule's head computes a part of its name where another one writes it (`p[x]` and `p.b`). The engine "
    "evaluates only one of them for `data.….p.b`, and a deny could miss: such a policy is refused.",
    Why.LIMIT: "Brackets nested over eight deep, or a number that no double holds.",
    Why.REPLACED: "`with` takes a builtin as a replacement, or replaces one that the engine does not have itself.",
    Why.UNKNOWN: "`test.sleep` is a function of OPA's own tests.",
    Why.RECURSION: "The check for recursion takes a reference that is not constant for all that it could reach.",
    Why.NUMBERS: "`-1e9` is an integer here, and none in OPA, which keeps numbers as they are written.",
    Why.TYPES: "An error where OPA has false.",
    Why.EDGES: "An error where OPA has a value: `4.1Mi` is a fraction of a byte, which OPA rounds to 64 bits; `1e400` is "
    "infinite; keys that a template misses; an empty text to replace; EdDSA is verified here, not signed with.",
    Why.MEANING: "What the engine would read otherwise than OPA is refused: `k, v in xs` of what could be a set, `walk` "
    "outside `walk(x, [path, value])`, `=` with a name of `every`, `_` and `{` behind `not`, fractions that no double "
    "holds, numbers that are written out as they are spelled (`src/rego/checks/meaning/`).",
    Why.SYNTAX: "Syntax of Rego after v1.2.0: `and`, `or`, `not { … }`, template strings, keywords in references. Write what "
    "older versions have.",
}

STAYS_AN_ERROR = """
## Errors where OPA has a value

Builtins and operators return the values of OPA v1.22.2 (`python -m differential`). If OPA writes more digits than a double holds,
they return the nearest double. No other difference occurred in 1,200,000 generated calls (2026-11-28) and
in 200,000 calls and expressions after the operators changed (2026-11-29).
An undefined operand of `not`, `in`, `with` or a minus has the effect that it has in OPA. Of 44,000 generated policies (2026-11-29), some are
errors here; each other one has OPA's value, or is undefined as in OPA. In 5 of 20,000, OPA has an error, and the engine a value or
none: it evaluates the statements of a body in another order, and can end before the error. These forms have a value in OPA, and are refused or
errors here: a number with a minus before a factor (`5 -2*3`; write `5 - 2*3`), a minus at the beginning of a comprehension
(`[-x | …]`), a minus before a reference in `k, -v in xs`, and `(` on the line after a name.
An expression is rounded once, at its end: `1 / 3 * 3 == 1` is true, as in OPA. Its value has the digits of a double: after
`third := 1 / 3`, `third * 3 == 1` is true in OPA only. The calls below are errors here, and an error denies:

| call | why |
|---|---|
| `yaml.unmarshal`, `yaml.is_valid` with words such as `yes`, `on`, `~`, numbers that are not plain, tags, blocks | the \
engine reads YAML 1.2, OPA reads 1.1 |
| `yaml.marshal` of fractions, of texts that need quotes, of several keys with digits | OPA writes them otherwise |
| `json.marshal`, `sprintf` with an integer of 22 and more digits, 17 of them significant at most | OPA keeps an \
exponent, which is not known here |
| `json.marshal` of sets that hold sets and objects | they have another order in the engine |
| `json.unmarshal`, `json.is_valid` with equal keys, lone surrogates, very long numbers | readers differ |
| `base64.*` with padding, line ends or bits left over within | readers differ |
| `abs`, `ceil`, `floor`, `round` of integers above 64 bits; `sum`, `product` with a fraction, beyond 2^53 | OPA rounds \
to 64 bits, the engine to 53 |
| `+`, `-`, `*`, `/` with a result of more than 4,096 bits, or one so small that a double has zero for it | limits of the engine |
| `sum` of more than 10,000 numbers with a fraction among them | time limit |
| `to_number` of a fraction with more than 17 characters, or with an exponent of more than nine | the engine stores a double; \
Go's exponents have 32 bits |
| `ceil`, `floor` of a fraction between -1 and 0 | OPA's is -0 |
| `time.*` with `Local`; `EST`, `HST`, `MST` before 1970; Morocco after 2099 | tables of zones differ |
| `time.parse_ns`, `time.parse_rfc3339_ns` with names of zones, days of the year, second 60, small `t` and `z` | the \
engine reads them otherwise |
| `units.parse_bytes` with most fractions, with exponents beyond 2^53, with results beyond 2^64 | OPA rounds to 64 bits |
| `units.parse` with a fraction or an exponent, from 2^53 on; with more than ten decimals | the engine stores a double; OPA rounds |
| `urlquery.*`, `replace` with what is no text in the end | a text here is Unicode |
| `net.cidr_merge` of IPv4 addresses in IPv6 | the engine has another network |
"""

SIGNS = [
    (Why.EDGES, "EdDSA is not available"),
    (Why.BLOCKED, "is not available"),
    (Why.OVERLAP, "overlaps"),
    (Why.LIMIT, "nested more than"),
    (Why.LIMIT, "out of range"),
    (Why.MEANING, "misses the members of a set"),
    (Why.MEANING, "walk gives many values"),
    (Why.MEANING, "is a name of every"),
    (Why.MEANING, "OPA writes this number"),
    (Why.EDGES, "YAML 1.1 and 1.2"),
    (Why.EDGES, "map has no entry"),
    (Why.EDGES, "an empty pattern"),
    (Why.EDGES, "number of elements"),
    (Why.EDGES, "a fraction of a byte"),
    (Why.EDGES, "too large for a double"),
    (Why.UNKNOWN, "unknown function"),
    (Why.RECURSION, "recursion"),
    (Why.REPLACED, "use of undefined variable"),
    (Why.REPLACED, "cannot be replaced"),
    (Why.TYPES, "expects string argument"),
    (Why.SYNTAX, "expecting "),
    (Why.SYNTAX, "unexpected keyword"),
    (Why.SYNTAX, "a keyword must be one of"),
    (Why.SYNTAX, "invalid character"),
]


@dataclass(frozen=True)
class Row:
    """One case."""

    id: str
    kind: Kind
    why: Why | None
    detail: str


def row(outcome: Outcome) -> Row:
    """A case that differs for a reason that is not known is an error: the table explains all of them."""
    if outcome.kind is Kind.SAME:
        return Row(outcome.id, outcome.kind, None, "")
    if outcome.kind is Kind.VALUE_FOR_ERROR and outcome.id.startswith("providers-aws-sign_req/"):
        return Row(outcome.id, outcome.kind, Why.NUMBERS, outcome.detail)
    for why, sign in SIGNS:
        if sign in outcome.detail and outcome.kind in {Kind.REFUSED, Kind.ERROR}:
            return Row(outcome.id, outcome.kind, why, outcome.detail)
    message = f"{outcome.id}: {outcome.kind}, and nobody said why: {outcome.detail}"
    raise ValueError(message)


def write_table(rows: Iterable[Row]) -> str:
    """As CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "outcome", "why", "detail"])
    writer.writerows([row.id, row.kind, row.why or "", row.detail] for row in rows)
    return text.getvalue()


def read_table(text: str) -> list[Row]:
    """From CSV."""
    return [
        Row(line["case"], Kind(line["outcome"]), Why(line["why"]) if line["why"] else None, line["detail"])
        for line in csv.DictReader(io.StringIO(text))
    ]


def counts(rows: list[Row]) -> dict[str, int]:
    """Passed, blocked on purpose, and the others."""
    blocked = sum(row.why is Why.BLOCKED for row in rows)
    passed = sum(row.kind is Kind.SAME for row in rows)
    return {"cases": len(rows), "passed": passed, "blocked": blocked, "others": len(rows) - passed - blocked}


def page(rows: list[Row]) -> str:
    """The page of the reference."""
    numbers = counts(rows)
    differing = [row for row in rows if row.kind is not Kind.SAME]
    lines = [
        "# Rego: conformance",
        "",
        f"OPA's own cases, of its Go module {VERSION} (`v1/test/cases/testdata/v1`), evaluated with the checks, guards",
        "and limits of a policy. Generated by `python -m conformance --write` in `regorus-py`; a test compares.",
        "",
        "| | |",
        "|---|---|",
        f"| cases | {numbers['cases']} |",
        f"| passed | {numbers['passed']} |",
        f"| on builtins that are blocked on purpose | {numbers['blocked']} |",
        f"| others that differ | {numbers['others']} |",
        "",
        "A case passes where the result is OPA's: the same bindings, nothing where OPA has nothing, an error where OPA",
        "has an error. Errors of builtins count as the case says (`strict_error`); in a policy here they are always",
        "errors, and an error denies.",
        "",
        "## In which direction the others differ",
        "",
        "| direction | cases | what it means |",
        "|---|---|---|",
    ]
    directions = Counter(row.kind for row in differing)
    meanings = {
        Kind.REFUSED: "refused when the policy is created, with line and column",
        Kind.ERROR: "an error where OPA has a value or nothing: the policy denies",
        Kind.VALUE_FOR_ERROR: "a value, or nothing, where OPA has an error: named below",
        Kind.OTHER_VALUE: "another value than OPA's: named below",
    }
    lines += [f"| {kind} | {directions[kind]} | {meaning} |" for kind, meaning in meanings.items()]
    for why in Why:
        chosen = [row for row in differing if row.why is why]
        if chosen:
            lines += [
                "",
                f"## {why.capitalize()} ({len(chosen)})",
                "",
                EXPLAINED[why],
                "",
                "| case | outcome |",
                "|---|---|",
            ]
            lines += (
                groups(chosen) if why is Why.SYNTAX else [f"| {cell(row.id)} | {cell(short(row))} |" for row in chosen]
            )
    return "\n".join(lines) + "\n" + STAYS_AN_ERROR


def groups(rows: list[Row]) -> list[str]:
    """A line for the cases of one name, which differ in the place of the same syntax."""
    members: dict[str, list[Row]] = {}
    for row in rows:
        members.setdefault(row.id.split("/")[0].split(":")[0], []).append(row)
    return [
        f"| {cell(name)} ({len(chosen)}) | {cell('; '.join(sorted({row.detail for row in chosen})))} |"
        for name, chosen in members.items()
    ]


def short(row: Row) -> str:
    text = row.detail if row.kind is Kind.REFUSED else f"{row.kind}: {row.detail}"
    return text if len(text) <= 140 else text[:139] + "…"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
