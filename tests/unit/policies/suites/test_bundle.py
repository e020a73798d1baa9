"""OPA bundles, honest ones and those that mean harm."""

import gzip
import io
import tarfile

import pytest

from headgate.kernel.errors import ValidationError
from headgate.policies.suites import bundle
from headgate.policies.suites.bundle import read_bundle


def tar(*members: tuple[str, bytes], special: tarfile.TarInfo | None = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if special is not None:
            archive.addfile(special)
    return stream.getvalue()


def test_policies_modules_and_data_are_found() -> None:
    suite = read_bundle(
        tar(
            ("/.manifest", b"{}"),
            ("./app/authz.rego", b"package app.authz\n\nallow := true\n"),
            ("app/authz_test.rego", b"package app.authz\n\ntest_a if allow\n"),
            ("shared/names.rego", b"package lib.names\n\nx := 1\n"),
            ("data.json", b'{"limits": {"a": 1}, "roles": ["x"]}'),
            ("deep/er/data.json", b"[1, 2]"),
            ("README.md", b"\xff"),
        )
    )
    assert [(one.key, one.name, one.file) for one in suite.policies] == [("app_authz", "app.authz", "app/authz.rego")]
    assert suite.modules == (("lib/names.rego", "package lib.names\n\nx := 1\n"),)
    assert suite.documents == {"limits": {"a": 1}, "roles": ["x"], "deep.er": [1, 2]}


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"not gzip", "not a gzip file"),
        (gzip.compress(b"not tar" * 100, mtime=0), "cannot be read"),
        (tar(("../../etc/a.rego", b"package a")), "not a name inside"),
        (tar(("a/../../b.rego", b"package a")), "not a name inside"),
        (tar(special=link("a.rego", tarfile.SYMTYPE)), "no links"),
        (tar(special=link("a.rego", tarfile.LNKTYPE)), "no links"),
        (tar(special=link("a.rego", tarfile.CHRTYPE)), "no devices"),
        (tar(("a.rego", b"package a"), ("./a.rego", b"package a")), "twice"),
        (tar(("a.rego", b"package a"), ("b.rego", b"package a")), "is in package a too"),
        (tar(("a.rego", b"allow := true")), "no package"),
        (tar(("a.rego", b"\xff")), "cannot be read"),
        (tar(("a.rego", b"package a #" + b"x" * 70_000)), "over"),
        (tar(("data.json", b"[1]")), "an object is required"),
        (tar(("data.json", b'{"a": 1, "a": 2}')), "data.json"),
        (tar(("data.json", b'{"allowlist": 1}')), "Headgate's own"),
        (tar(*((f"f{number}", b"") for number in range(2_001))), "more than 2000 members"),
    ],
    ids=[
        "no gzip",
        "no tar",
        "a way out",
        "a way out in the middle",
        "a symbolic link",
        "a hard link",
        "a device",
        "one file twice",
        "one package twice",
        "a rule without a package",
        "bytes that are no text",
        "a policy too long",
        "data that is a list",
        "a key twice",
        "a name of our own",
        "too many members",
    ],
)
def test_what_is_no_honest_bundle_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        read_bundle(content)
    assert says in refusal.value.message


def test_a_small_file_that_unpacks_to_a_huge_one_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_UNPACKED_MAX_BYTES", 1 << 20)
    with pytest.raises(ValidationError, match="holds over 1048576 bytes"):
        read_bundle(gzip.compress(b"\0" * (8 << 20)))
