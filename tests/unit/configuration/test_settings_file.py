"""A file of settings: what it may say, and everything that is wrong with it at once."""

import os
from pathlib import Path

import pytest

from headgate.cli.target import named_data_directory
from headgate.configuration.settings import environment_with_file, read_settings
from headgate.configuration.settings_file import SETTINGS_FILE
from headgate.kernel.errors import ValidationError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "headgate.toml"


def _named(file: Path, text: str | bytes, mode: int = 0o644, **environment: str) -> dict[str, str]:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    file.chmod(mode)
    return {SETTINGS_FILE: str(file), **environment}


def _refused(environment: dict[str, str]) -> str:
    with pytest.raises(ValidationError) as caught:
        read_settings(environment)
    return caught.value.message


def test_it_says_what_the_environment_may_say(file: Path) -> None:
    text = """
# of the gate
api_port = 8480
rate_limits = false
log_level = "debug"
trusted_proxies = ["10.0.0.0/8", "fd00::1"]
proxy_body_limit_bytes = "20MiB"
"""
    settings = read_settings(_named(file, text))
    assert (settings.api_port, settings.rate_limits, settings.log_level) == (8480, False, "debug")
    assert [str(one) for one in settings.trusted_proxies or ()] == ["10.0.0.0/8", "fd00::1/128"]
    assert settings.proxy_body_limit_bytes == 20 * 1024**2


def test_a_variable_takes_precedence_and_an_empty_one_does_not(file: Path) -> None:
    text = "api_port = 8480\nproxy_port = 8481\n"
    settings = read_settings(_named(file, text, HEADGATE_API_PORT="8490", HEADGATE_PROXY_PORT=""))
    assert (settings.api_port, settings.proxy_port) == (8490, 8481)


def test_a_secret_stands_in_it_or_in_a_file_that_it_names(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "redis"
    kept.write_text("redis://:hunter2@db/0\n")
    kept.chmod(0o600)
    read = read_settings(_named(file, 'redis_url = "redis://db/1"', 0o600))
    assert read.redis_url is not None and read.redis_url.reveal() == "redis://db/1"
    named = _named(file, f'redis_url_file = "{kept}"')
    read = read_settings(named)
    assert read.redis_url is not None and read.redis_url.reveal() == "redis://:hunter2@db/0"
    in_environment = read_settings({**named, "HEADGATE_REDIS_URL": "redis://db/2"})
    assert in_environment.redis_url is not None and in_environment.redis_url.reveal() == "redis://db/2"


def test_everything_that_is_wrong_is_told_at_once_with_its_line(file: Path) -> None:
    text = """api_port = 99999
rate_limit = false

log_level = "loud"
hold_seconds = 1.5
[proxy]
port = 1
"""
    assert _refused(_named(file, text, HEADGATE_PROXY_WORKERS="0")).splitlines() == [
        "6 settings cannot be used:",
        f'  {file}, line 1: api_port is "99999": a port is a number from 0 to 65535 (0: any that is free)',
        f"  {file}, line 2: rate_limit is not a setting. Did you mean rate_limits?",
        f'  {file}, line 4: log_level is "loud": set it to one of debug, info, warning, error',
        f"  {file}, line 5: hold_seconds: give a text, a whole number, true, false, or a list of texts",
        f"  {file}, line 6: proxy is not a setting. Did you mean proxy_port?",
        '  the environment variable HEADGATE_PROXY_WORKERS is "0": it must be at least 1',
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("api_port = \n", "line 1"),
        (b"\xff", "it is not UTF-8 text"),
        ("api_port = 1\napi_port = 2\n", "line 2"),
        ('trusted_proxies = ["10.0.0.0/8,10.1.0.0/16"]', "each entry of a list is a text without commas"),
        ("API_PORT = 1", "API_PORT is not a setting"),
    ],
)
def test_what_cannot_be_read_names_the_file(file: Path, text: str | bytes, says: str) -> None:
    message = _refused(_named(file, text))
    assert str(file) in message
    assert says in message


def test_an_error_shows_no_secret(file: Path) -> None:
    message = _refused(_named(file, 'database_url = "mysql://user:hunter2@db/x"', 0o600))
    assert "hunter2" not in message
    assert "line 1: database_url" in message


def test_a_file_that_is_missing(file: Path) -> None:
    assert _refused({SETTINGS_FILE: str(file)}).endswith("the file cannot be used: No such file or directory")


@pytest.mark.parametrize(("mode", "text"), [(0o664, "api_port = 1"), (0o644, 'redis_url = "redis://db/1"')])
def test_others_neither_change_it_nor_read_secrets_in_it(file: Path, mode: int, text: str) -> None:
    assert "chmod" in _refused(_named(file, text, mode))


def test_nobody_else_owns_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = _named(file, "api_port = 1")
    if os.geteuid() == 0:
        os.chown(file, 12345, 12345)
    else:
        monkeypatch.setattr("headgate.kernel.secret_file.os.geteuid", lambda: 12345)
    assert "belongs to another user" in _refused(environment)


def test_other_processes_get_its_values_and_not_its_name(file: Path) -> None:
    given = environment_with_file(_named(file, 'data_dir = "/var/x"', PATH="/bin"))
    assert given == {"HEADGATE_DATA_DIR": "/var/x", "PATH": "/bin"}


def test_commands_find_the_instance_by_it(file: Path) -> None:
    assert named_data_directory(_named(file, 'data_dir = "/var/x"')) == Path("/var/x")
