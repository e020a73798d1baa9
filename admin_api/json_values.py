"""Members of bodies that take one JSON type and convert no other: true is not 1, and "3" is not 3."""

from typing import Annotated, Any

from pydantic import BeforeValidator, StrictInt

from headgate.kernel.whole_numbers import whole_number


def _whole(value: Any) -> Any:
    whole = whole_number(value)
    return value if whole is None else whole


WholeNumber = Annotated[StrictInt, BeforeValidator(_whole)]
"""3 and 3.0, as the description's ``integer`` says."""
