"""Rule 9: an option that opens the gate is refused, at the start and afterwards."""

import pytest
from mitmproxy.exceptions import OptionsError
from mitmproxy.options import Options

from proxy.options import FROZEN, FrozenOptions, OptionsSnapshot


@pytest.fixture
def frozen(tmp_path) -> FrozenOptions:
    return FrozenOptions(authority_dir=tmp_path, upstream_roots=tmp_path / "roots.pem")


@pytest.fixture
def options(frozen) -> Options:
    made = Options()
    # As the loaded addons define them.
    made.add_option("connection_strategy", str, "eager", "")
    made.add_option("stream_large_bodies", str | None, None, "")
    made.add_option("emudhra_ca", bool, False, "")
    frozen.apply(made)
    # As the addon manager does: every change reaches ``configure``.
    made.changed.connect(frozen.configure)
    return made


def test_what_is_required_is_set(options, tmp_path) -> None:
    assert options.connection_strategy == "lazy"
    assert options.rawtcp is False
    assert options.confdir == str(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"ssl_insecure": True},
        {"ignore_hosts": [".*"]},
        {"allow_hosts": ["example.com"]},
        {"tcp_hosts": [".*"]},
        {"rawtcp": True},
        {"websocket": False},
        {"connection_strategy": "eager"},
        {"stream_large_bodies": "1k"},
        {"ssl_verify_upstream_trusted_ca": None},
        {"confdir": "/somewhere/else"},
        {"mode": ["transparent"]},
        {"emudhra_ca": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_is_refused_and_taken_back(options, change) -> None:
    [name] = change
    before = getattr(options, name)
    with pytest.raises(OptionsError, match=name):
        options.update(**change)
    assert getattr(options, name) == before


def test_sealed_options_do_not_change_at_all(options, frozen) -> None:
    frozen.seal()
    with pytest.raises(OptionsError, match="frozen"):
        options.update(key_size=4096)


def test_options_that_were_never_applied_are_not_taken_for_good(frozen) -> None:
    with pytest.raises(OptionsError):
        frozen.check()


def test_a_snapshot_does_not_change(options) -> None:
    snapshot = OptionsSnapshot(options)
    assert snapshot.connection_strategy == "lazy"
    with pytest.raises(AttributeError):
        snapshot.rawtcp = True
    with pytest.raises(AttributeError):
        _ = snapshot.no_such_option


def test_every_option_that_the_core_reads_is_known() -> None:
    assert {"ssl_insecure", "ignore_hosts", "allow_hosts", "tcp_hosts", "validate_inbound_headers"} <= FROZEN.keys()
    assert {"onboarding", "connection_strategy", "rawtcp", "stream_large_bodies"} <= FROZEN.keys()
