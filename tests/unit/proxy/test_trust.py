"""Trust stores as the programs read them that they are for."""

import shutil
import ssl
import subprocess
from pathlib import Path

import certifi
import pytest

from headgate.kernel.errors import ValidationError
from proxy.trust import write_client_bundle, write_java_trust_store, write_upstream_roots


def roots(path: Path) -> int:
    return len(ssl.create_default_context(cafile=str(path)).get_ca_certs())


def test_client_bundle_holds_the_public_roots_and_ours(authority, tmp_path) -> None:
    write_client_bundle(tmp_path / "bundle.pem", authority.trusted())
    assert roots(tmp_path / "bundle.pem") == roots(Path(certifi.where())) + 1


def test_upstream_roots_do_not_hold_ours(authority, tmp_path) -> None:
    write_upstream_roots(tmp_path / "roots.pem", None)
    assert roots(tmp_path / "roots.pem") == roots(Path(certifi.where()))
    # Any certificate of the operator's serves as an extra root.
    write_upstream_roots(tmp_path / "roots.pem", authority.certificate_file)
    assert roots(tmp_path / "roots.pem") == roots(Path(certifi.where())) + 1


@pytest.mark.parametrize("content", [None, b"", b"not a certificate"])
def test_extra_roots_that_are_none(tmp_path, content) -> None:
    extra = tmp_path / "extra.pem"
    if content is not None:
        extra.write_bytes(content)
    with pytest.raises(ValidationError) as refused:
        write_upstream_roots(tmp_path / "roots.pem", extra)
    assert refused.value.details == {"path": str(extra)}


def test_java_trusts_the_store(authority, tmp_path) -> None:
    keytool = shutil.which("keytool")
    store = tmp_path / "trust.p12"
    write_java_trust_store(store, authority.trusted(), "changeit")
    assert store.read_bytes()[:1] == b"\x30"  # DER, whether or not a Java is here to read it
    if keytool is None:
        return
    listing = subprocess.run(
        [keytool, "-list", "-keystore", store, "-storepass", "changeit"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    assert listing.count("trustedCertEntry") == roots(Path(certifi.where())) + 1
