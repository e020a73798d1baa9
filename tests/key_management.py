"""Both key management services, each behind a front that can break what passes: moto as AWS KMS; a transit engine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from headgate.kms.access import KmsAccess
from headgate.kms.key_services import KeyServices
from headgate.vault.unwrapper import Unwrapper
from headgate.vault.wrapped_key import Wrapping, parse_wrapping
from tests.aws_signing_server import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from tests.faulty_front import FaultyFront, faulty_front
from tests.transit_server import TOKEN, transit_server

AWS_VARIABLES = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


@dataclass
class Service:
    """``kms`` and ``other_kms``: addresses of two keys in it. ``variables``: what a process needs to reach it."""

    kms: str
    other_kms: str
    front: FaultyFront
    variables: Mapping[str, str]
    token_file: Path | None = None
    access: KmsAccess = field(init=False)

    def __post_init__(self) -> None:
        self.access = KmsAccess(
            vault_address=self.variables.get("VAULT_ADDR"),
            vault_token_file=self.token_file,
            aws_endpoint=self.variables.get("AWS_ENDPOINT_URL_KMS"),
        )

    @property
    def wrapping(self) -> Wrapping:
        return parse_wrapping(self.kms, "tests")

    def unwrapper(self, wait_seconds: float = 30.0) -> Unwrapper:
        """Of a process that starts now."""
        return Unwrapper(KeyServices(self.access), wait_seconds=wait_seconds)


@contextmanager
def aws_service() -> Iterator[Service]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    try:
        url = f"http://127.0.0.1:{moto.get_host_and_port()[1]}"
        client = boto3.client(
            "kms",
            endpoint_url=url,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY_ID,
            aws_secret_access_key=SECRET_ACCESS_KEY,
        )
        arns = [client.create_key()["KeyMetadata"]["Arn"] for _ in range(2)]
        with faulty_front(url) as front:
            variables = {"AWS_ENDPOINT_URL_KMS": front.url, **AWS_VARIABLES}
            yield Service(f"awskms:///{arns[0]}", f"awskms:///{arns[1]}", front, variables)
    finally:
        moto.stop()


@contextmanager
def transit_service(folder: Path) -> Iterator[Service]:
    with transit_server() as transit, faulty_front(transit.url) as front:
        token_file = folder / "vault-token"
        token_file.write_text(f"{TOKEN}\n")
        token_file.chmod(0o600)
        variables = {"VAULT_ADDR": front.url, "HEADGATE_VAULT_TOKEN_FILE": str(token_file)}
        yield Service("hashivault://master", "hashivault://other", front, variables, token_file)


@contextmanager
def service_of(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """``kind``: aws or transit. This process can reach it."""
    for name, value in AWS_VARIABLES.items():
        monkeypatch.setenv(name, value)
    with aws_service() if kind == "aws" else transit_service(folder) as made:
        yield made
