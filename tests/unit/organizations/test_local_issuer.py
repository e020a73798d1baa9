import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest

from headgate.kernel.errors import UnavailableError
from headgate.organizations.local_issuer import AUDIENCE, KEY_FILE, LOCAL_ISSUER, open_local_issuer
from headgate.organizations.model import Role

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    directory = tmp_path / "issuer"
    first = open_local_issuer(directory)
    assert stat.S_IMODE((directory / KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert open_local_issuer(directory).key_id == first.key_id
    assert [path.name for path in directory.iterdir()] == [KEY_FILE]


def test_two_first_starts_agree_on_one_key(tmp_path: Path) -> None:
    seen: list[str] = []
    start = threading.Barrier(8)

    def open_it() -> None:
        start.wait()
        seen.append(open_local_issuer(tmp_path).key_id)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1


def test_a_token_says_who_and_until_when(tmp_path: Path) -> None:
    issuer = open_local_issuer(tmp_path)
    token = issuer.mint(
        org_id="org_1",
        subject="alice",
        roles=[Role.VIEWER, Role.APPROVER],
        now=NOW,
        lifetime=timedelta(hours=1),
        email="alice@example.com",
        aal="aal2",
    )
    claims = jwt.decode(
        token.reveal(),
        issuer.public_key,
        algorithms=["EdDSA"],
        audience=AUDIENCE,
        options={"verify_exp": False, "verify_iat": False},
    )
    assert len(claims.pop("jti")) == 24
    assert claims == {
        "iss": LOCAL_ISSUER,
        "aud": AUDIENCE,
        "sub": "alice",
        "org_id": "org_1",
        "roles": ["approver", "viewer"],
        "aal": "aal2",
        "email": "alice@example.com",
        "email_verified": True,
        "iat": int(NOW.timestamp()),
        "exp": int(NOW.timestamp()) + 3600,
    }
    assert jwt.get_unverified_header(token.reveal())["kid"] == issuer.key_id


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_broken_key_file_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(UnavailableError, match="cannot be read or made"):
        open_local_issuer(tmp_path)
    assert (tmp_path / KEY_FILE).read_bytes() == content
