"""The test cases that are kept with a policy's version (decision 0087), as options of the commands that save one."""

from collections.abc import Callable
from typing import Any, Final, TextIO, cast

import click

_SENT: Final = "accept_failing_cases"
_OPTION: Final = "--accept-failing-cases"

_cases_option: Final = click.option(
    "--cases",
    type=click.File("r", encoding="utf-8"),
    help="Test cases to keep with the version: YAML, as NAME.cases.yaml of policy test. [] removes them.",
)
_accept_option: Final = click.option(_OPTION, is_flag=True, help="Save although tests fail.")


def case_options[Command: Callable[..., None]](command: Command) -> Command:
    return _cases_option(_accept_option(command))


def case_members(cases: TextIO | None, *, accept_failing_cases: bool) -> dict[str, Any]:
    """What a request says of them. Raises ValidationError, which names the file, the case and the member."""
    sent: dict[str, Any] = {_SENT: True} if accept_failing_cases else {}
    return sent if cases is None else sent | {"cases": _read(cases)}


def with_option(message: str) -> str:
    """The API's advice, in the command's words."""
    return message.replace(f"or save it with {_SENT}.", f"or save it with {_OPTION}.")


def _read(file: TextIO) -> list[dict[str, Any]]:
    # Here, because help must not wait for the reader of YAML.
    from headgate.configuration.yaml_document import parse_value  # noqa: PLC0415
    from headgate.policies.suites.cases import cases_of  # noqa: PLC0415

    value = parse_value(file.read(), where=file.name)
    cases_of(value, file=file.name)
    return cast("list[dict[str, Any]]", value)
