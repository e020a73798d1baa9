"""The instance that a client command calls.

In this order: ``--runtime-file``, HEADGATE_RUNTIME_FILE, HEADGATE_API_URL with HEADGATE_TOKEN, ``.headgate`` in the
current folder (where ``make up`` puts it) if this user has started an instance there, the data directory of this user,
the instance that this user started last. Where the instance of the current folder is stopped, no other one is taken for
it: a stop or an approval would reach the wrong one.
HEADGATE_TOKEN without an address, or with the instance's own: that person, at the instance that is found.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from headgate.configuration.data_directory import DataDirectory, default_data_directory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.instance_pointer import last_started
from headgate.runtime.own_data import is_own
from headgate.runtime.runtime_file import RuntimeInformation, read_runtime_file

LOCAL_DATA: Final = Path(".headgate")


class Target(Struct, frozen=True):
    """The API's address and the token for it."""

    api_url: str
    token: Secret


def runtime_file_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """``--runtime-file``, the same for every client command."""
    return click.option(
        "--runtime-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The instance's runtime file (HEADGATE_RUNTIME_FILE).",
    )(command)


def json_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """``--json``, the same for every client command."""
    return click.option("--json", "as_json", is_flag=True, help="Print the API response as JSON.")(command)


def result_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """``--json`` of commands that work on files or secrets, or write what the API sends into a file."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def find_target(runtime_file: Path | None, environment: Mapping[str, str] = os.environ) -> Target:
    """Raises UnavailableError, which says how to name an instance."""
    api_url, token = environment.get("HEADGATE_API_URL"), environment.get("HEADGATE_TOKEN")
    if runtime_file is None and not environment.get("HEADGATE_RUNTIME_FILE") and api_url and token:
        return Target(api_url.rstrip("/"), Secret(token))
    information = find_instance(runtime_file, environment, ", or with HEADGATE_API_URL and HEADGATE_TOKEN")
    if token and (not api_url or api_url.rstrip("/") == information.api_url.rstrip("/")):
        # A person with a token of their own does not act as the administrator of the runtime file. A token for another
        # address is not sent.
        return Target(information.api_url, Secret(token))
    return Target(information.api_url, information.admin_token)


def find_instance(
    runtime_file: Path | None, environment: Mapping[str, str] = os.environ, other_ways: str = ""
) -> RuntimeInformation:
    """The instance on this machine. Raises UnavailableError, which ends in the caller's other ways to name one."""
    named = runtime_file or _path(environment.get("HEADGATE_RUNTIME_FILE"))
    if named is not None:
        return read_runtime_file(named)
    configured = named_data_directory(environment)
    found = _runtime_file_in(configured, environment)
    if found is None:
        missing = (
            "no running instance found. Start one with headgate up (in a clone: make up), or name one with"
            " --runtime-file PATH (or HEADGATE_RUNTIME_FILE)"
        )
        stopped = "" if configured else about_stopped_data(environment)
        raise UnavailableError(f"{stopped or missing}{other_ways}{about_foreign_data(environment)}")
    return read_runtime_file(found)


def default_runtime_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The runtime file of an instance that the caller did not name, if one is found."""
    return _runtime_file_in(named_data_directory(environment), environment)


def _runtime_file_in(configured: Path | None, environment: Mapping[str, str]) -> Path | None:
    """``configured``: the data directory that the environment names."""
    only = [configured] if configured else local_data(environment)
    files = [DataDirectory(folder).runtime_file for folder in only or [default_data_directory(environment)]]
    if not only and (last := last_started(environment)) is not None:
        files.append(last)
    return next((file for file in files if file.exists()), None)


def local_data(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """``.headgate`` in the current folder, if this user has started an instance there (``runtime.own_data``)."""
    data = DataDirectory(LOCAL_DATA.absolute())
    return [data.root] if is_own(data, environment) else []


def about_stopped_data(environment: Mapping[str, str] = os.environ) -> str:
    """For an error where no instance was found: that the one of the current folder is stopped, if there is one."""
    return "".join(
        f"the instance in {folder} is not running. Start it with headgate up --data-dir {folder} (in a clone: make up),"
        " or name another with --runtime-file PATH (or HEADGATE_RUNTIME_FILE)"
        for folder in local_data(environment)
    )


def about_foreign_data(environment: Mapping[str, str] = os.environ) -> str:
    """For an error: why ``.headgate`` in the current folder was not looked at."""
    if not LOCAL_DATA.exists() or local_data(environment):
        return ""
    return (
        f". {LOCAL_DATA.absolute()} is not used, because this user has started no instance there: if it is yours, name"
        " it with HEADGATE_DATA_DIR"
    )


def named_data_directory(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The value of HEADGATE_DATA_DIR, from the environment or the settings file. Raises ValidationError (file)."""
    if environment.get("HEADGATE_SETTINGS_FILE"):
        from headgate.configuration.settings import environment_with_file  # noqa: PLC0415 - most commands read none

        environment = environment_with_file(environment)
    return _path(environment.get("HEADGATE_DATA_DIR"))


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
