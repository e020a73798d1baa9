"""Text that a person typed and that the database can keep."""

from typing import Annotated

from pydantic import AfterValidator


def _storable(text: str) -> str:
    """PostgreSQL's text holds no NUL; said here by the field's name, rather than by the driver."""
    if "\0" in text:
        raise ValueError("must not contain NUL")
    return text


type StorableText = Annotated[str, AfterValidator(_storable)]
