"""What the API says of a policy's text, told of the file that a person wrote it in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from headgate.cli.policy_cases import with_option
from headgate.kernel.errors import ValidationError


@contextmanager
def complaints_about(file: TextIO | None) -> Iterator[None]:
    """A refusal of the text inside names ``file`` instead of what the engine calls every policy."""
    try:
        yield
    except ValidationError as error:
        raise ValidationError(with_option(in_file(error.message, file)), details=error.details) from error


def in_file(message: str, file: TextIO | None) -> str:
    from headgate.policies.compile import SOURCE_NAME  # noqa: PLC0415 - the engine, for what there is to say only

    if file is None or not message.startswith(f"{SOURCE_NAME}:"):
        return message
    return file.name + message.removeprefix(SOURCE_NAME)
