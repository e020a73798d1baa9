"""``--runtime-file`` for commands that call the API: they get the client of the instance that it names."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate

from headgate.cli.api_client import ApiClient
from headgate.cli.target import find_target, runtime_file_option


def client_option[**P, R](command: Callable[Concatenate[ApiClient, P], R]) -> Callable[..., R]:
    """The innermost option of a command, whose first parameter is the client."""

    @runtime_file_option
    @wraps(command)
    def called(runtime_file: Path | None, *args: P.args, **kwargs: P.kwargs) -> R:
        return command(ApiClient(find_target(runtime_file)), *args, **kwargs)

    return called
