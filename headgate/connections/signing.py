"""AWS Signature Version 4 over a call as it leaves.

AWS, "Create a signed AWS API request" (docs.aws.amazon.com/IAM/latest/UserGuide, reference_sigv-create-signed-request):
canonical request, string to sign, derived key. The agent's own signature, made with a placeholder or not at all, is
removed first. Tested against botocore's signer.
"""

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from typing import Final
from urllib.parse import quote, unquote

from msgspec.structs import replace

from headgate.connections.credential import SigningCredential
from headgate.protocols.http_call import HttpCall

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_REPLACED: Final = frozenset(
    {b"authorization", b"x-amz-date", b"x-amz-security-token", b"x-amz-content-sha256", b"date"}
)
_UNSIGNED: Final = frozenset(
    {b"user-agent", b"accept", b"accept-encoding", b"connection", b"expect", b"transfer-encoding", b"content-length"}
    | {b"x-amzn-trace-id", b"host", b"te"}
)
_SAFE: Final = "-._~"


def sign(call: HttpCall, credential: SigningCredential, at: datetime) -> HttpCall:
    """``call`` with the headers that say who calls. ``at`` in UTC; AWS takes it for five minutes."""
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    body_digest = hashlib.sha256(call.body).hexdigest()
    added = [(b"x-amz-date", stamp.encode())]
    if credential.service == "s3":
        added.append((b"x-amz-content-sha256", body_digest.encode()))
    if credential.session_token is not None:
        added.append((b"x-amz-security-token", credential.session_token.reveal().encode()))
    kept = [one for one in call.headers if one[0].lower() not in _REPLACED]
    signed = _signed_headers([*kept, *added], _authority(call))
    names = ";".join(signed)
    request = "\n".join(
        (
            call.method,
            _canonical_path(call.path, double=credential.service != "s3"),
            _canonical_query(call.query),
            "".join(f"{name}:{value}\n" for name, value in signed.items()),
            names,
            body_digest,
        )
    )
    scope = f"{stamp[:8]}/{credential.region}/{credential.service}/aws4_request"
    text = "\n".join((_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_key(credential, stamp[:8]), text.encode(), hashlib.sha256).hexdigest()
    authorization = (
        f"{_ALGORITHM} Credential={credential.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return replace(call, headers=(*kept, *added, (b"authorization", authorization.encode())))


def _authority(call: HttpCall) -> str:
    return call.host if call.port == 443 else f"{call.host}:{call.port}"


def _signed_headers(headers: Iterable[tuple[bytes, bytes]], authority: str) -> dict[str, str]:
    found: dict[str, list[str]] = {"host": [authority]}
    for name, value in headers:
        lowered = name.lower()
        if lowered not in _UNSIGNED:
            found.setdefault(lowered.decode("ascii"), []).append(" ".join(value.decode("latin-1").split()))
    return {name: ",".join(found[name]) for name in sorted(found)}


def _canonical_path(path: str, *, double: bool) -> str:
    """Each service but S3 encodes what is encoded already once more. S3 encodes once, and ``%2F`` stays a character of
    its segment."""
    segments = path.split("/")
    return "/".join(quote(one if double else unquote(one), safe=_SAFE) for one in segments) or "/"


def _canonical_query(query: str) -> str:
    pairs: list[tuple[str, str]] = []
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            pairs.append((quote(unquote(name), safe=_SAFE), quote(unquote(value), safe=_SAFE)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _key(credential: SigningCredential, day: str) -> bytes:
    key = b"AWS4" + credential.secret_access_key.reveal().encode()
    for piece in (day, credential.region, credential.service, "aws4_request"):
        key = hmac.new(key, piece.encode(), hashlib.sha256).digest()
    return key
