"""Facts about an expression before evaluation, and about references to a call's own members."""

from typing import Final

from msgspec import Struct

from headgate.policies.formula import FALSE, TRUE, Field, Formula, Present
from headgate.policies.syntax import Reference

_FIELDS: Final = {
    ("tool",): Field.TOOL,
    ("operation",): Field.OPERATION,
    ("http", "host"): Field.HOST,
    ("http", "method"): Field.METHOD,
}


class Facts(Struct, frozen=True):
    """Facts about an expression before evaluation.

    ``may``: false if it is certainly false or undefined. ``must``: true if it certainly is neither, unless it raises.
    ``defined``: false if it is certainly undefined. ``fails``: false if it certainly raises no error. Everything except
    false and undefined counts as true in a statement.
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
    """The member that a reference names, and whether it certainly exists if the call has it.

    ``input.action`` repeats the call's members; nothing follows from a member missing there.
    """
    if reference.root != "input" or reference.path is None:
        return None, False
    if reference.path[:1] == ("action",):
        return _FIELDS.get(reference.path[1:]), False
    return _FIELDS.get(reference.path), True


def presence(field: Field) -> Formula:
    return TRUE if field in {Field.TOOL, Field.OPERATION} else Present(field)
