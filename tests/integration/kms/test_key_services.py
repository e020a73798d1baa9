"""What both services do for a key, and each way in which a service or the network fails: no key, no secret shown."""

import asyncio
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from headgate.demo.certificates import write_service_certificate
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.kms.access import KmsAccess
from headgate.kms.key_address import TransitKey, parse_key_address
from headgate.kms.key_services import KeyServices
from tests.aws_signing_server import ARN, SECRET_ACCESS_KEY, aws_signing_server
from tests.http_server import http_server
from tests.key_management import AWS_VARIABLES, Service
from tests.transit_server import TOKEN, transit_server

_PLAIN = b"thirty-two bytes of a master key"
_CONTEXT = {"headgate-installation": "tests", "headgate-master-key": "k1"}
_FAULTS = [
    ("refused", "answered 403"),
    ("unavailable", "answered 503"),
    ("not json", "answered"),
    ("other json", "answered"),
    ("truncated", "does not answer"),
    ("drip", "does not answer"),
    ("silent", "does not answer"),
]


async def test_only_the_same_key_and_context_decrypt(service: Service) -> None:
    services, key, other = KeyServices(service.access), *map(parse_key_address, (service.kms, service.other_kms))
    ciphertext = await services.encrypt(key, _PLAIN, _CONTEXT)
    assert await services.decrypt(key, ciphertext, _CONTEXT) == _PLAIN
    assert ciphertext != await services.encrypt(key, _PLAIN, _CONTEXT)
    for address, text, context in (
        (other, ciphertext, _CONTEXT),
        (key, ciphertext, {**_CONTEXT, "headgate-master-key": "k2"}),
        (key, ciphertext, {**_CONTEXT, "headgate-installation": "another"}),
        (key, ciphertext[:-8] + "AAAAAAA=", _CONTEXT),
    ):
        with pytest.raises(UnavailableError):
            await services.decrypt(address, text, context)


@pytest.mark.parametrize(("fault", "said"), _FAULTS)
async def test_a_fault_ends_in_time_gives_no_key_and_is_over_when_it_is_over(
    service: Service, fault: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.kms.exchange.EXCHANGE_SECONDS", 1.0)
    services, key = KeyServices(service.access), parse_key_address(service.kms)
    ciphertext = await services.encrypt(key, _PLAIN, _CONTEXT)
    service.front.fault = fault
    for asked in (services.decrypt(key, ciphertext, _CONTEXT), services.encrypt(key, _PLAIN, _CONTEXT)):
        began = time.monotonic()
        with pytest.raises(UnavailableError) as failed:
            await asked
        assert said in failed.value.message
        assert time.monotonic() - began < 4
        for secret in (TOKEN, SECRET_ACCESS_KEY, _PLAIN.decode(), ciphertext):
            assert secret not in failed.value.message
    service.front.fault = None
    assert await services.decrypt(key, ciphertext, _CONTEXT) == _PLAIN


async def test_a_service_that_is_not_there(service: Service) -> None:
    unused = "http://127.0.0.1:9"
    access = replace(service.access, vault_address=unused, aws_endpoint=unused)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1 does not answer"):
        await KeyServices(access).encrypt(parse_key_address(service.kms), _PLAIN, _CONTEXT)


@pytest.mark.parametrize("url", ["http://vault.example", "ftp://127.0.0.1", "vault.example", "https://", "http://[::1"])
async def test_nothing_leaves_this_machine_in_the_clear(url: str) -> None:
    access = KmsAccess(vault_address=url, vault_token=Secret(TOKEN))
    with pytest.raises(UnavailableError, match="must begin with https://"):
        await KeyServices(access).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)


async def test_a_token_that_is_replaced_is_used_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"

    def write(token: str) -> None:
        file.write_text(token)
        file.chmod(0o600)

    with transit_server() as transit:
        services = KeyServices(KmsAccess(vault_address=transit.url, vault_token_file=file))
        ask = services.encrypt
        with pytest.raises(UnavailableError, match="FileNotFoundError"):
            await ask(TransitKey("master"), _PLAIN, _CONTEXT)
        await asyncio.to_thread(write, "hvs.old")
        with pytest.raises(UnavailableError, match="answered 403 to encrypt with master: 1 error occurred") as refused:
            await ask(TransitKey("master"), _PLAIN, _CONTEXT)
        assert "hvs.old" not in refused.value.message
        await asyncio.to_thread(write, TOKEN)
        assert await ask(TransitKey("master"), _PLAIN, _CONTEXT)
        await asyncio.to_thread(file.chmod, 0o644)
        with pytest.raises(UnavailableError, match="chmod 600"):
            await ask(TransitKey("master"), _PLAIN, _CONTEXT)
        await asyncio.to_thread(write, "a\nb: c")
        with pytest.raises(UnavailableError, match="holds no Vault token"):
            await ask(TransitKey("master"), _PLAIN, _CONTEXT)


async def test_a_namespace_and_a_mount_are_those_of_the_environment() -> None:
    with transit_server() as transit:
        transit.namespace = "team-a"
        access = KmsAccess(vault_address=transit.url, vault_token=Secret(TOKEN))
        with pytest.raises(UnavailableError, match="answered 403"):
            await KeyServices(access).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)
        inside = replace(access, vault_namespace="team-a")
        assert await KeyServices(inside).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)
        elsewhere = replace(inside, transit_mount="keys/transit")
        with pytest.raises(UnavailableError, match="answered 404"):
            await KeyServices(elsewhere).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)


async def test_a_private_certificate_authority_is_named_by_vaults_own_variable(tmp_path: Path) -> None:
    root, certificate = await asyncio.to_thread(write_service_certificate, tmp_path, "127.0.0.1")
    with transit_server(certificate) as transit:
        access = KmsAccess(vault_address=transit.url, vault_token=Secret(TOKEN))
        with pytest.raises(UnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            await KeyServices(access).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)
        for trusting in (replace(access, vault_ca_file=root), replace(access, upstream_ca_file=root)):
            assert await KeyServices(trusting).encrypt(TransitKey("master"), _PLAIN, _CONTEXT)
        with pytest.raises(UnavailableError, match=r"certificates for 127\.0\.0\.1 cannot be read"):
            await KeyServices(replace(access, vault_ca_file=tmp_path / "none.pem")).sign(TransitKey("signer"), b"")


async def test_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_VARIABLES.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(UnavailableError, match="no AWS credentials: set AWS_ACCESS_KEY_ID"):
        await KeyServices(KmsAccess()).sign(parse_key_address(f"awskms:///{ARN}"), b"")
    with pytest.raises(UnavailableError, match="the AWS region of awskms:///alias/a is not known"):
        await KeyServices(KmsAccess()).sign(parse_key_address("awskms:///alias/a"), b"")
    with pytest.raises(UnavailableError, match="set VAULT_ADDR"):
        await KeyServices(KmsAccess()).sign(TransitKey("signer"), b"")
    with pytest.raises(UnavailableError, match="set VAULT_TOKEN"):
        await KeyServices(KmsAccess(vault_address="https://vault.example")).sign(TransitKey("signer"), b"")


async def test_an_ed25519_key_of_aws_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_VARIABLES.items():
        monkeypatch.setenv(name, value)
    with aws_signing_server() as aws:
        services, key = KeyServices(KmsAccess(aws_endpoint=aws.url)), parse_key_address(f"awskms:///{ARN}")
        address, public_key = await services.public_key(key)
        assert address == key
        Ed25519PublicKey.from_public_bytes(public_key).verify(await services.sign(key, b"message"), b"message")
        aws.refusal = "com.amazonaws.kms#DisabledException"
        with pytest.raises(UnavailableError, match=r"answered 400 to Sign with awskms:///.*: DisabledException"):
            await services.sign(key, b"message")


async def test_a_version_of_a_transit_key_signs_after_vault_has_rotated_it() -> None:
    with transit_server() as transit:
        services = KeyServices(KmsAccess(vault_address=transit.url, vault_token=Secret(TOKEN)))
        address, public_key = await services.public_key(TransitKey("signer"))
        assert str(address) == "hashivault://signer?version=1"
        transit.keys["signer"].append(Ed25519PrivateKey.generate())
        Ed25519PublicKey.from_public_bytes(public_key).verify(await services.sign(address, b"message"), b"message")
        assert (await services.public_key(TransitKey("signer")))[0] == TransitKey("signer", 2)
        with pytest.raises(UnavailableError, match="of another type than ed25519"):
            await services.public_key(TransitKey("master"))
        with pytest.raises(UnavailableError, match="has no version 9"):
            await services.public_key(TransitKey("signer", 9))
        with pytest.raises(UnavailableError, match="answered 404"):
            await services.public_key(TransitKey("nowhere"))


async def test_an_answer_without_a_signature_is_none() -> None:
    for document in (b'{"data": {}}', b'{"data": {"signature": 1}}', b'{"data": {"signature": "vault:v1:?"}}'):
        with http_server(lambda _, __, document=document: (200, "application/json", document)) as url:
            services = KeyServices(KmsAccess(vault_address=url, vault_token=Secret(TOKEN)))
            with pytest.raises(UnavailableError, match="Vault answered"):
                await services.sign(TransitKey("signer"), b"message")
