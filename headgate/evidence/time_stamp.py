"""Time stamps of checkpoints (RFC 3161): that a checkpoint existed at a time, by the word of an authority."""

import base64
from datetime import datetime
from typing import Final

from cryptography.x509 import load_pem_x509_certificates
from rfc3161_client import (
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)
from rfc3161_client.base import HashAlgorithm
from rfc3161_client.tsp import PKIStatus, TimeStampRequest, TimeStampResponse

from headgate.evidence.der import check_der
from headgate.kernel.errors import ValidationError

QUERY_TYPE: Final = "application/timestamp-query"


def query(body: str) -> TimeStampRequest:
    """The request for a checkpoint's three lines. Its nonce binds the answer to it (RFC 3161, section 2.4.1); whoever
    checks the stamp later does not need it."""
    builder = TimestampRequestBuilder().data(body.encode()).hash_algorithm(HashAlgorithm.SHA256)
    return builder.nonce(nonce=True).cert_request(cert_request=True).build()


def check_response(answer: bytes, asked: TimeStampRequest, body: str, roots: bytes | None = None) -> str:
    """The response in base64, where it is the answer to this request: its nonce, its imprint by its algorithm. With
    ``roots``, where the authority also chains to one of them, may stamp time (extended key usage, critical) and has
    signed it (RFC 3161, sections 2.3 and 2.4.2). Raises ValidationError.

    Without them, whether the authority is to be believed its reader decides, with roots of their own.
    """
    response = _decoded(answer)
    imprint, wanted = response.tst_info.message_imprint, asked.message_imprint
    if imprint.message != wanted.message or imprint.hash_algorithm != wanted.hash_algorithm:
        raise ValidationError("the time stamp is of something else than the checkpoint")
    if response.tst_info.nonce != asked.nonce:
        raise ValidationError("the time stamp is the answer to another request: its nonce is not ours")
    if roots is not None:
        verified_time(answer, body, roots)
    return base64.b64encode(answer).decode()


def verified_time(answer: bytes, body: str, roots: bytes) -> datetime:
    """When the authority says that it saw this checkpoint; ``roots`` are certificates in PEM that its own chains to.

    Raises ValidationError.
    """
    try:
        builder = VerifierBuilder()
        for root in load_pem_x509_certificates(roots):
            builder = builder.add_root_certificate(root)
        response = _decoded(answer)
        builder.build().verify_message(response, body.encode())
    except (VerificationError, ValueError) as error:
        raise ValidationError(f"the time stamp does not verify: {error}") from error
    return response.tst_info.gen_time


def _decoded(answer: bytes) -> TimeStampResponse:
    check_der(answer)
    try:
        response = decode_timestamp_response(answer)
    except ValueError as error:
        raise ValidationError(f"not an answer of a time-stamp authority: {error}") from error
    if PKIStatus(response.status) not in (PKIStatus.GRANTED, PKIStatus.GRANTED_WITH_MODS):
        raise ValidationError(f"the time-stamp authority refused: status {response.status}")
    return response
