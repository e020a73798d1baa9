"""Settings: what the environment may say, and what an error tells."""

from pathlib import Path

import pytest

from headgate.configuration.reference import settings_reference
from headgate.configuration.settings import Part, all_variables, file_variable_of, read_settings
from headgate.kernel.errors import ValidationError

ROOT = Path(__file__).resolve().parents[3]


def test_defaults_stand_alone() -> None:
    settings = read_settings({"HOME": "/home/someone"})
    assert settings.api_url == "http://127.0.0.1:8470"
    assert settings.proxy_url == "http://127.0.0.1:8471"
    assert settings.proxy_workers >= 1
    assert (settings.hold_seconds, settings.approval_expires_seconds) == (50, 86_400)
    assert (settings.api_body_limit_bytes, settings.proxy_body_limit_bytes) == (1024**2, 10 * 1024**2)
    assert settings.rate_limits


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("HEADGATE_API_PORT", "80a", "digits only"),
        ("HEADGATE_API_PORT", "-1", "digits only"),
        ("HEADGATE_API_PORT", "٣", "digits only"),
        ("HEADGATE_PROXY_PORT", "65536", "from 0 to 65535"),
        ("HEADGATE_PROXY_WORKERS", "0", "at least 1"),
        ("HEADGATE_RATE_LIMITS", "no", "on or off"),
        ("HEADGATE_HOLD_SECONDS", "50s", "digits only"),
        ("HEADGATE_PROXY_BODY_LIMIT_BYTES", "10MB", "as in 10MiB"),
        ("HEADGATE_BUFFER_BUDGET_BYTES", "0", "as in 10MiB"),
        ("HEADGATE_UPSTREAM_CA_FILE", "/no/such/file", "no such file"),
        ("HEADGATE_LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("HEADGATE_PUBLIC_API_URL", "gate.example.com", "http:// or https://"),
        ("HEADGATE_PUBLIC_API_URL", "https://u:p@gate.example.com", "without user"),
        ("HEADGATE_REDIS_URL", "localhost:6379", "redis://"),
        ("HEADGATE_UPSTREAM_PROXY_URL", "proxy.example.com:3128", "http://user:password@host:port"),
        ("HEADGATE_UPSTREAM_PROXY_URL", "http://u:p/w@proxy.example.com:3128", "http://user:password@host:port"),
        ("HEADGATE_UPSTREAM_PROXY_URL", "http://proxy.example.com:3128/path", "ends with its port"),
        ("HEADGATE_UPSTREAM_PROXY_RESOLUTION", "remote", "local, proxy"),
    ],
)
def test_an_error_names_variable_value_and_remedy(name: str, text: str, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_settings({name: text})
    assert name in caught.value.message
    assert says in caught.value.message
    assert caught.value.details is not None
    assert caught.value.details["variable"] == name


def test_an_error_shows_no_secret() -> None:
    with pytest.raises(ValidationError) as caught:
        read_settings({"HEADGATE_DATABASE_URL": "mysql://user:hunter2@db/x"})
    assert "hunter2" not in caught.value.message
    assert "HEADGATE_DATABASE_URL" in caught.value.message


@pytest.mark.parametrize("password", ["hunter\u21162", "hun[ter]2", "hunter2@x:y"])
def test_an_address_that_cannot_be_read_shows_no_password(password: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_settings({"HEADGATE_UPSTREAM_PROXY_URL": f"http://user:{password}@proxy.example.com:0"})
    assert "hun" not in str(caught.value.details) + caught.value.message
    assert "ter" not in caught.value.message


def test_an_empty_variable_is_unset() -> None:
    assert read_settings({"HEADGATE_API_PORT": "", "HEADGATE_REDIS_URL": ""}).redis_url is None


def test_a_part_logs_in_with_its_own_address_or_with_the_one_of_all() -> None:
    one = {"HEADGATE_DATABASE_URL": "postgresql://all@db/x"}
    both = one | {"HEADGATE_PROXY_DATABASE_URL": "postgresql://proxy@db/x"}
    assert read_settings(one).database_url_of(Part.PROXY).reveal() == "postgresql://all@db/x"
    assert read_settings(both).database_url_of(Part.PROXY).reveal() == "postgresql://proxy@db/x"
    assert read_settings(both).database_url_of(Part.API).reveal() == "postgresql://all@db/x"
    with pytest.raises(ValidationError, match="HEADGATE_WORKER_DATABASE_URL"):
        read_settings({}).database_url_of(Part.WORKER)


def test_settings_show_no_secret() -> None:
    settings = read_settings({"HEADGATE_DATABASE_URL": "postgresql://u:hunter2@db/x"})
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:1"), ("::", "http://[::1]:1"), ("::1", "http://[::1]:1"), ("gate", "http://gate:1")],
)
def test_the_address_to_connect_to(host: str, url: str) -> None:
    assert read_settings({"HEADGATE_API_HOST": host, "HEADGATE_API_PORT": "1"}).api_url == url


def test_the_data_directory_follows_xdg() -> None:
    assert read_settings({"XDG_DATA_HOME": "/data"}).data_dir == Path("/data/headgate")
    assert read_settings({"XDG_DATA_HOME": "/data", "HEADGATE_DATA_DIR": "/var/x"}).data.postgres == Path(
        "/var/x/postgres"
    )


def test_every_default_is_a_value() -> None:
    for one in all_variables():
        assert one.name.startswith("HEADGATE_")
        assert one.meaning
        one.value(None)


def test_the_reference_page_is_this_table() -> None:
    page = ROOT / "docs" / "reference" / "settings.md"
    assert page.read_text("utf-8") == settings_reference(), "run python -m headgate.configuration.reference"


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://in-file@db/x\n")
    file.chmod(0o600)
    named = {"HEADGATE_API_DATABASE_URL_FILE": str(file)}
    assert read_settings(named).database_url_of(Part.API).reveal() == "postgresql://in-file@db/x"
    both = named | {"HEADGATE_API_DATABASE_URL": "postgresql://own@db/x"}
    assert read_settings(both).database_url_of(Part.API).reveal() == "postgresql://own@db/x"


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (b"postgresql://u:hunter2@db/x", 0o644, "chmod 600"),
        (b"mysql://u:hunter2@db/x", 0o600, "postgresql://"),
        (b"\xff\xfe", 0o600, "UTF-8"),
        (None, 0, "No such file"),
    ],
)
def test_a_file_of_a_secret_that_cannot_be_used_is_named(
    tmp_path: Path, content: bytes | None, mode: int, says: str
) -> None:
    file = tmp_path / "url"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(ValidationError) as caught:
        read_settings({"HEADGATE_DATABASE_URL_FILE": str(file)})
    assert "HEADGATE_DATABASE_URL" in caught.value.message
    assert says in caught.value.message
    assert "hunter2" not in caught.value.message


def test_only_secrets_stand_in_files_and_no_setting_is_shadowed() -> None:
    assert [one.name for one in all_variables() if one.is_secret and file_variable_of(one) is None] == [
        "HEADGATE_SIGNING_KEYS"
    ]
    assert not any(file_variable_of(one) for one in all_variables() if not one.is_secret)
