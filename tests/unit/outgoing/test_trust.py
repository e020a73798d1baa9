"""Whom outgoing calls believe."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.kernel.errors import ValidationError
from headgate.kernel.public_roots import public_roots
from headgate.outgoing.trust import trusted_roots
from proxy.authority import new_authority


def test_clients_that_believe_the_public_roots_share_them() -> None:
    assert trusted_roots(None) is trusted_roots(None) is public_roots()
    assert trusted_roots(None).minimum_version == ssl.TLSVersion.TLSv1_2


def test_roots_of_the_operators_own_are_for_those_who_ask_for_them(tmp_path: Path) -> None:
    own = tmp_path / "roots.pem"
    own.write_bytes(new_authority(datetime.now(UTC)))
    public = public_roots().cert_store_stats()

    assert trusted_roots(own).cert_store_stats()["x509"] == public["x509"] + 1
    assert trusted_roots(own).minimum_version == ssl.TLSVersion.TLSv1_2
    assert public_roots().cert_store_stats() == public


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "roots.pem").write_text("none")
    with pytest.raises(ValidationError, match=r"roots\.pem holds no certificates in PEM"):
        trusted_roots(tmp_path / "roots.pem")
