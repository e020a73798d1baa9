"""Whether two outcomes say the same."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal

from differential.ask import DECISION, EXPRESSION, Call, Decision, Expression

SAME, ERROR_HERE, DIFFERENT = "same", "error here", "different"
ROUNDED = {"sum", "product", "units.parse", "plus", "minus", "mul", "div", EXPRESSION, DECISION}
"""OPA writes up to 20 digits; both results are compared as the nearest double."""
ERROR = "-"
NOT_THERE = "unknown builtin"


def outcome(line: bytes, name: str) -> object:
    """Numbers by their value, sets without an order; None for an error."""
    digits = Context(prec=700)

    def number(text: str) -> str:
        try:
            exact = Decimal(text)
            if name in ROUNDED and exact != exact.to_integral_value():
                exact = Decimal(float(text))
            return str(exact.normalize(digits) + 0)
        except ArithmeticError:
            return text  # an exponent beyond any

    def plain(found: object) -> object:
        if isinstance(found, list):
            return [plain(item) for item in found]
        if isinstance(found, dict):
            members = {key: plain(member) for key, member in found.items()}
            if "$set" in members:
                return {"$set": sorted(members["$set"], key=repr)}  # type: ignore[call-overload]
            return members
        return found

    try:
        found = json.loads(line, parse_int=number, parse_float=number)
    except ValueError:
        return None  # an infinite number, which is no JSON
    return None if "error" in found else plain(found)


def digest(line: bytes, name: str) -> str:
    """Some digits of an outcome's hash; ``-`` for an error."""
    found = outcome(line, name)
    text = json.dumps(found, sort_keys=True)
    return ERROR if found is None else hashlib.sha256(text.encode()).hexdigest()[:10]


def verdict(theirs: str, ours: str) -> str:
    """Of two digests. An error here where OPA has a value denies, and is no different value."""
    if theirs == ours:
        return SAME
    return ERROR_HERE if ours == ERROR else DIFFERENT


def compare(
    calls: Sequence[Call | Expression | Decision], theirs: Sequence[bytes], ours: Sequence[bytes]
) -> tuple[Counter[str], list[str]]:
    """How often which verdict, and what differs, as text.

    A panic in OPA is nothing to compare with, nor is an error of a policy: which statement is evaluated first differs.
    """
    counts, different = Counter[str](), []
    for call, their, our in zip(calls, theirs, ours, strict=True):
        if NOT_THERE.encode() in their or b"panic: " in their:
            counts["not in OPA"] += 1
            continue
        if isinstance(call, Decision) and digest(their, call.name) == ERROR:
            counts["error in OPA"] += 1
            continue
        found = verdict(digest(their, call.name), digest(our, call.name))
        counts[found] += 1
        if found == DIFFERENT:
            different.append(f"{call.line().decode()}\n    here {our.decode()}\n    OPA  {their.decode()}")
    return counts, different
