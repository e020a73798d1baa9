"""A key that never leaves its device: checkpoints signed over HTTP, and what a device that misbehaves leads to."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.evidence.signer_lines import parse_remote
from headgate.evidence.signing_keys import SigningKeySource, parse_signing_keys
from headgate.evidence.tree_store import latest_checkpoint, load_tree
from headgate.kernel.errors import UnavailableError, ValidationError
from tests.http_server import http_server


class Device:
    """Holds the key; ``broken`` says what it does instead of signing."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.broken: str | None = None
        self.asked = 0

    def answer(self, path: str, message: bytes) -> tuple[int, str, bytes]:
        self.asked += 1
        signature = self.key.sign(message)
        match self.broken:
            case "refuses":
                return 403, "text/plain", b"no"
            case "another message":
                signature = self.key.sign(message + b"\n")
            case "another key":
                signature = Ed25519PrivateKey.generate().sign(message)
            case "longer":
                signature += b"\n"
            case "text":
                signature = base64.b64encode(signature)
        return 200, "application/octet-stream", signature

    def line(self, name: str, url: str) -> str:
        address = url.replace("://", "://:secret-token@")
        return f"SIGNER+{VerifierKey(name, self.key.public_key().public_bytes_raw()).text}+{address}/sign"


async def test_checkpoints_are_signed_by_the_device_beside_the_key_before_it(
    api_database: Database, checkpointer: Checkpointer, record, organization
) -> None:
    org_id, device = organization.org_id, Device()
    old = checkpointer.keys.load().signers[0].public_key
    await record(3)
    assert await checkpointer.checkpoint(org_id)

    async def newest() -> tuple[int, str]:
        async with api_database.transaction(org_id) as connection:
            stored = await latest_checkpoint(connection, org_id)
            problem = (await load_tree(connection, org_id)).problem
        assert stored is not None
        return stored.size, problem or ""

    with http_server(device.answer) as url:
        checkpointer.keys.rotate(device.line("log.example", url))
        await record(3)
        assert await checkpointer.checkpoint(org_id)
        async with api_database.transaction(org_id) as connection:
            stored = await latest_checkpoint(connection, org_id)
        assert stored is not None
        origin, new = f"log.example/{org_id}", device.key.public_key().public_bytes_raw()
        assert len(verify_note(parse_note(stored.note), [VerifierKey(origin, one) for one in (old, new)])) == 2
        checkpointer.keys.retire(VerifierKey("log.example", old).key_id.hex())
        for broken in ("refuses", "another message", "another key", "longer", "text"):
            device.broken = broken
            await record(1)
            assert not await checkpointer.checkpoint(org_id)
            size, problem = await newest()
            assert size == 6
            assert "the signer at" in problem, problem
            assert "secret-token" not in problem
    await record(1)
    assert not await checkpointer.checkpoint(org_id)
    assert "does not answer" in (await newest())[1]
    device.broken = None
    with http_server(device.answer, port=int(url.rpartition(":")[2])):
        assert await checkpointer.checkpoint(org_id)
        assert await newest() == (12, "")
    with pytest.raises(UnavailableError):
        await checkpointer.keys.load().signers[0].sign(b"x")


def test_a_signer_can_be_the_only_key_and_its_token_is_not_shown(tmp_path: Path) -> None:
    device = Device()
    keys = parse_signing_keys(device.line("log.example", "https://kms.example:8443"))
    assert keys.log_name == "log.example"
    assert "secret-token" not in repr(keys.signers[0])
    assert getattr(keys.signers[0], "url") == "https://kms.example:8443/sign"  # noqa: B009 - not of the protocol
    source = SigningKeySource(tmp_path / "keys")
    source.create("log.example")
    with pytest.raises(ValidationError, match="named as the log"):
        source.rotate(device.line("other.example", "https://kms.example"))


@pytest.mark.parametrize("line", ["SIGNER+x", "SIGNER+a+00000000+AAAA+https://h/", "SIGNER+a+00000000+AA+ftp://h/"])
def test_a_malformed_signer_is_refused_without_its_token(line: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_remote(line)
    assert "https" not in refused.value.message or ":TOKEN@host" in refused.value.message


@pytest.mark.parametrize("address", ["https://:{}@h:99999/", "https://:{}@[h/", "https://:{}@h\u2100/"])
def test_a_malformed_address_of_a_signer_is_refused_without_its_token(address: str) -> None:
    line = Device().line("log.example", "https://h").partition("+https")[0]
    with pytest.raises(ValidationError, match="malformed") as refused:
        parse_remote(f"{line}+{address.format('secret-token')}")
    assert "secret" not in repr(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("token", ["secr\u00e9t", "secr%C3%A9t", "secr%0Aet", "secr%20et"])
def test_a_token_that_no_header_carries_is_refused_when_it_is_loaded(token: str) -> None:
    line = Device().line("log.example", "https://h").replace("secret-token", token)
    with pytest.raises(ValidationError, match="https://h/sign cannot be sent in an HTTP header") as refused:
        parse_signing_keys(line)
    assert "secr" not in repr(refused.value)
