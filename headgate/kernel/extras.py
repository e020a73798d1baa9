"""What a missing extra says: the wheel installs some packages only where they are asked for (pyproject.toml)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from headgate.kernel.errors import ErrorCode, HeadgateError

_PACKAGES: Final[Mapping[str, frozenset[str]]] = {
    "awskms": frozenset({"botocore"}),
    "notifications": frozenset({"apprise"}),
    "opentelemetry": frozenset({"opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter"}),
    "reports": frozenset({"typst", "font_source_sans_pro"}),
}


class MissingExtraError(HeadgateError):
    """An extra is not installed where it is needed; the message names both."""

    code = ErrorCode.SERVICE_UNAVAILABLE


@contextmanager
def importing(extra: str, purpose: str) -> Iterator[None]:
    """For imports of the packages of ``extra``. Raises MissingExtraError where one is missing: ``purpose`` is its
    subject, in the plural."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES[extra]:
            raise
        raise MissingExtraError(
            f"{purpose} need the extra {extra}, which is not installed here. Install it where this process runs:"
            f" pip install 'headgate[{extra}]'"
        ) from error
