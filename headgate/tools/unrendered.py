"""What is said of an action that Headgate cannot, or must not, turn into a call."""

from msgspec import Struct

from headgate.kernel.errors import ValidationError


class Unrendered(Struct, frozen=True):
    """There is no call for it; the agent carries the action out itself."""

    reason: str


def invalid(param: str, reason: str) -> ValidationError:
    """The call is known, but this value cannot be sent in it."""
    return ValidationError(f"params.{param}: {reason}", details={"field": f"params.{param}", "reason": reason})
