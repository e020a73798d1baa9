"""Checkpoints that a key in AWS KMS or in Vault signs, without a handler in front of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.evidence.signer_lines import signer_line
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tree_store import latest_checkpoint, load_tree
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.kms.access import KmsAccess
from headgate.kms.key_address import parse_key_address
from headgate.kms.key_services import KeyServices
from tests.aws_signing_server import ARN, SECRET_ACCESS_KEY, AwsSigningServer, aws_signing_server
from tests.key_management import AWS_VARIABLES
from tests.transit_server import TOKEN, TransitServer, transit_server


class Kms:
    """A service with one Ed25519 key at ``address``."""

    def __init__(self, server: AwsSigningServer | TransitServer) -> None:
        self.server = server
        is_aws = isinstance(server, AwsSigningServer)
        self.address = parse_key_address(f"awskms:///{ARN}" if is_aws else "hashivault://signer")
        self.services = KeyServices(
            KmsAccess(aws_endpoint=server.url)
            if is_aws
            else KmsAccess(vault_address=server.url, vault_token=Secret(TOKEN))
        )

    def replace_key(self) -> None:
        """Under the same address, as when a transit key was deleted and made again."""
        if isinstance(self.server, AwsSigningServer):
            self.server.key = Ed25519PrivateKey.generate()
        else:
            self.server.keys["signer"] = [Ed25519PrivateKey.generate()]

    @contextmanager
    def refusing(self) -> Iterator[None]:
        if isinstance(self.server, AwsSigningServer):
            self.server.refusal = "DisabledException"
            yield
            self.server.refusal = None
        else:
            self.server.token = "another"
            yield
            self.server.token = TOKEN


@pytest.fixture(params=["aws", "transit"])
def kms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kms]:
    for name, value in AWS_VARIABLES.items():
        monkeypatch.setenv(name, value)
    with aws_signing_server() if request.param == "aws" else transit_server() as server:
        yield Kms(server)


async def test_checkpoints_are_signed_and_only_a_signature_of_the_key_counts(
    api_database: Database, checkpointer: Checkpointer, record, organization, kms: Kms
) -> None:
    org_id = organization.org_id
    source = SigningKeySource(checkpointer.keys.file, services=kms.services)
    checkpointer = replace(checkpointer, keys=source)
    old = source.load().signers[0].public_key
    source.rotate(await signer_line("log.example", kms.address, kms.services))
    new = source.load().signers[0].public_key
    assert new != old

    async def newest() -> tuple[int, str]:
        async with api_database.transaction(org_id) as connection:
            stored = await latest_checkpoint(connection, org_id)
            return 0 if stored is None else stored.size, (await load_tree(connection, org_id)).problem or ""

    await record(3)
    assert await checkpointer.checkpoint(org_id)
    async with api_database.transaction(org_id) as connection:
        stored = await latest_checkpoint(connection, org_id)
    assert stored is not None
    origin = f"log.example/{org_id}"
    assert len(verify_note(parse_note(stored.note), [VerifierKey(origin, one) for one in (old, new)])) == 2

    await record(1)
    with kms.refusing():
        assert not await checkpointer.checkpoint(org_id)
    size, problem = await newest()
    assert size == 3
    assert f"the signer at {source.load().signers[0].address} does not sign" in problem  # type: ignore[attr-defined]
    assert TOKEN not in problem and SECRET_ACCESS_KEY not in problem
    assert await checkpointer.checkpoint(org_id)
    assert await newest() == (4, "")

    await record(1)
    kms.replace_key()
    assert not await checkpointer.checkpoint(org_id)
    assert "a signature that its public key does not verify" in (await newest())[1]


async def test_a_process_without_access_verifies_and_does_not_sign(checkpointer: Checkpointer, kms: Kms) -> None:
    checkpointer.keys.rotate(await signer_line("log.example", kms.address, kms.services))
    [signer, _] = SigningKeySource(checkpointer.keys.file).load().signers
    assert signer.public_key == (await kms.services.public_key(kms.address))[1]
    with pytest.raises(UnavailableError, match="this process does not use the signer"):
        await signer.sign(b"message")


async def test_a_key_that_does_not_sign_becomes_no_signer(kms: Kms) -> None:
    with kms.refusing(), pytest.raises(UnavailableError):
        await signer_line("log.example", kms.address, kms.services)
