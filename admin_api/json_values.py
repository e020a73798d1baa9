"""Members of bodies that take one JSON type and convert no other: true is not 1, and "3" is not 3."""

from typing import Annotated, Any

from pydantic import BeforeValidator, SkipValidation, StrictInt

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.whole_numbers import whole_number


def _whole(value: Any) -> Any:
    whole = whole_number(value)
    return value if whole is None else whole


WholeNumber = Annotated[StrictInt, BeforeValidator(_whole)]
"""3 and 3.0, as the description's ``integer`` says."""

type StoredObject = SkipValidation[JsonObject]
"""What was read as JSON here, in an answer: looking at each of ten megabytes' values again takes seconds."""
