"""The fonts that HEADGATE_REPORT_FONTS names, tried before anything starts rather than by the first report.

The typesetter is loaded only where there is something to try.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headgate.configuration.settings import Settings
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.kernel.extras import importing

_PURPOSE: Final = "fonts of PDF reports"


def check_report_fonts(settings: Settings) -> None:
    """For what starts a worker: whether the files are there and are fonts. Raises ValidationError."""
    if settings.report_fonts:
        with _naming_the_variable():
            with importing("reports", _PURPOSE):
                from headgate.reports.typefaces import open_typefaces  # noqa: PLC0415

            open_typefaces(settings.report_fonts)


def usable_report_fonts(settings: Settings) -> tuple[Path, ...]:
    """For a worker: whether each can be set in a PDF as well. Raises ValidationError."""
    if not settings.report_fonts:
        return ()
    fonts = tuple(one.absolute() for one in settings.report_fonts)
    with _naming_the_variable():
        with importing("reports", _PURPOSE):
            from headgate.reports.pdf_writer import try_typefaces  # noqa: PLC0415
            from headgate.reports.typefaces import open_typefaces  # noqa: PLC0415

        try_typefaces(open_typefaces(fonts))
    return fonts


@contextmanager
def _naming_the_variable() -> Iterator[None]:
    try:
        yield
    except HeadgateError as error:
        raise ValidationError(
            f"the environment variable HEADGATE_REPORT_FONTS: {error.message}",
            details={"variable": "HEADGATE_REPORT_FONTS", "reason": error.message},
        ) from error
