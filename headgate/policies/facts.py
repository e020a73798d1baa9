"""What is known of an expression before it is evaluated, and of the references to a call's own members."""

from dataclasses import dataclass
from typing import Final

from headgate.policies.formula import FALSE, TRUE, Field, Formula, Present
from headgate.policies.syntax import Reference

_FIELDS: Final = {
    ("tool",): Field.TOOL,
    ("operation",): Field.OPERATION,
    ("http", "host"): Field.HOST,
    ("http", "method"): Field.METHOD,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an expression before it is evaluated.

    ``may``: false where it is certainly false or undefined. ``must``: true where it certainly is neither,
    unless it raises. ``defined``: false where it is certainly undefined. ``fails``: false where it certainly
    raises no error. Everything but false and undefined counts as true in a statement.
    """

    may: Formula
    must: Formula
    defined: Formula
    fails: Formula


UNKNOWN: Final = Facts(may=TRUE, must=FALSE, defined=TRUE, fails=TRUE)
QUIET: Final = Facts(may=TRUE, must=FALSE, defined=TRUE, fails=FALSE)
CONSTANT: Final = Facts(may=TRUE, must=TRUE, defined=TRUE, fails=FALSE)
CONSTANT_FALSE: Final = Facts(may=FALSE, must=FALSE, defined=TRUE, fails=FALSE)


def field_of(reference: Reference) -> tuple[Field | None, bool]:
    """The member that a reference names, and whether it is certainly there where the call has it.

    ``input.action`` repeats the call's members; nothing is concluded from one that is missing there.
    """
    if reference.root != "input" or reference.path is None:
        return None, False
    if reference.path[:1] == ("action",):
        return _FIELDS.get(reference.path[1:]), False
    return _FIELDS.get(reference.path), True


def presence(field: Field) -> Formula:
    return TRUE if field in {Field.TOOL, Field.OPERATION} else Present(field)
