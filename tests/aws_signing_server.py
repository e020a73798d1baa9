"""Sign and GetPublicKey of AWS KMS for a key ECC_NIST_EDWARDS25519, which moto does not have yet.

Requests are held to botocore's own description of the service and to its signer, and answers are parsed by it in the
tests, so that both are those of the AWS KMS API Reference.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.validate import ParamValidator
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.http_server import body_of, handling_server, send

ACCESS_KEY_ID, SECRET_ACCESS_KEY = "AKIDEXAMPLE", "secret-access-key-of-the-tests"
REGION = "eu-central-1"
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


class AwsSigningServer:
    """``key``: what signs. ``refusal``: the kind of error that each request is answered with."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.refusal: str | None = None
        self.url = ""
        self._model = botocore.session.Session().get_service_model("kms")

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        content = body_of(request)
        _require_signature(request, content)
        status, document = self._answer(request.headers["x-amz-target"], content)
        send(request, status, "application/x-amz-json-1.1", json.dumps(document).encode())

    def _answer(self, target: str, content: bytes) -> tuple[int, dict[str, object]]:
        if self.refusal is not None:
            return 400, {"__type": self.refusal, "message": "…"}
        operation, asked = target.removeprefix("TrentService."), json.loads(content)
        shape = self._model.operation_model(operation).input_shape
        report = ParamValidator().validate(asked, shape)
        assert not report.has_errors(), report.generate_report()
        if asked["KeyId"] != ARN:
            return 400, {"__type": "NotFoundException", "message": "…"}
        if operation == "GetPublicKey":
            encoded = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            return 200, {"KeyId": ARN, "PublicKey": _base64(encoded), "KeySpec": "ECC_NIST_EDWARDS25519"}
        assert (operation, asked["MessageType"], asked["SigningAlgorithm"]) == ("Sign", "RAW", "ED25519_SHA_512")
        signature = self.key.sign(base64.b64decode(asked["Message"]))
        return 200, {"KeyId": ARN, "Signature": _base64(signature), "SigningAlgorithm": "ED25519_SHA_512"}


def _require_signature(request: BaseHTTPRequestHandler, content: bytes) -> None:
    """The one that botocore makes of what has arrived."""
    said = request.headers["authorization"]
    names = said.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "x-amz-date", "x-amz-target"} <= set(names), said
    headers = {name: request.headers[name] for name in names if name != "host"}
    arrived = AWSRequest("POST", f"http://{request.headers['host']}{request.path}", headers=headers, data=content)
    arrived.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ACCESS_KEY_ID, SECRET_ACCESS_KEY), "kms", REGION)
    text = signer.string_to_sign(arrived, signer.canonical_request(arrived))
    assert said.endswith(f"Signature={signer.signature(text, arrived)}"), said


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@contextmanager
def aws_signing_server() -> Iterator[AwsSigningServer]:
    aws = AwsSigningServer()
    with handling_server(aws.handle) as aws.url:
        yield aws
