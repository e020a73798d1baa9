"""The keys in a backup go where a backup has them from, and nowhere else."""

import io
import tarfile

import pytest

from headgate.backup.key_files import MASTER_KEYS, KeyFile, packed, require_master_keys, unpacked
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.vault.master_keys import MasterKeys
from headgate.vault.wrapped_key import WrappedKey, parse_wrapping

_NAMES = [
    "secrets.json",
    "vault/master-keys.json",
    "evidence/signing-keys",
    "evidence/signed/org_default",
    "ca/authority.pem",
    "issuer/key.pem",
    "catalogues/one.yaml",
]


def test_what_was_packed_is_unpacked() -> None:
    files = [KeyFile(name, name.encode()) for name in _NAMES]
    assert unpacked([packed(files)]) == files


def test_wrapped_master_keys_are_counted_without_their_kms() -> None:
    wrapped = WrappedKey(parse_wrapping("hashivault://master", "prod"), "vault:v1:AA==")
    file = KeyFile(MASTER_KEYS, MasterKeys("k2", {"k1": bytes(32), "k2": bytes(32)}, {"k2": wrapped}).to_json())
    require_master_keys(["k1", "k2"], [file])
    with pytest.raises(UnavailableError, match="k3"):
        require_master_keys(["k2", "k3"], [file])


@pytest.mark.parametrize(
    "name",
    [
        "commit.json",  # of the restore, which would obey it
        "version.json",
        "postgres/postgresql.conf",
        "evidence/signing-keys/x",
        "ca",
        "ca/../postgres/pg_hba.conf",
        "../secrets.json",
        "/ca/authority.pem",
        "./commit.json",
    ],
)
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="which Headgate does not write"):
        unpacked([packed([KeyFile(name, b"x")])])


def test_a_link_is_refused() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("ca/authority.pem")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(ValidationError, match="which Headgate does not write"):
        unpacked([buffer.getvalue()])


def test_a_sparse_file_is_refused() -> None:
    """A few bytes of it would fill the memory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("ca/authority.pem")
        entry.pax_headers = {"GNU.sparse.map": "300000,0", "GNU.sparse.size": "300000"}
        archive.addfile(entry)
    with pytest.raises(ValidationError, match="which Headgate does not write"):
        unpacked([buffer.getvalue()])
