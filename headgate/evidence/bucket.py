"""One object into an S3-compatible bucket, locked, and read again: Signature Version 4, object lock in compliance mode.

The requests are those that Amazon's "Authenticating Requests (AWS Signature Version 4)", "PutObject" and "GetObject"
describe. A locked object is changed by nobody, the account's owner included, until its time is over.
"""

import base64
import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote, urlsplit

from headgate.evidence.export_targets import BucketTarget

_ALGORITHM: Final = "AWS4-HMAC-SHA256"


def put_request(target: BucketTarget, key: str, content: bytes, now: datetime) -> tuple[str, dict[str, str]]:
    """The address and the headers of the PUT. ``now`` is UTC."""
    until = now + timedelta(days=target.retain_days)
    headers = {
        "content-md5": base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode(),
        "content-type": "text/plain; charset=utf-8",
        "if-none-match": "*",
        "x-amz-object-lock-mode": "COMPLIANCE",
        "x-amz-object-lock-retain-until-date": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return _signed(target, "PUT", key, content, headers, now)


def get_request(target: BucketTarget, key: str, now: datetime) -> tuple[str, dict[str, str]]:
    """The address and the headers of the GET of what lies there ("GetObject"). ``now`` is UTC."""
    return _signed(target, "GET", key, b"", {}, now)


def _signed(
    target: BucketTarget, method: str, key: str, content: bytes, headers: dict[str, str], now: datetime
) -> tuple[str, dict[str, str]]:
    path = quote(f"/{target.bucket}/{target.prefix}/{key}".replace("//", "/"))
    digest = hashlib.sha256(content).hexdigest()
    headers = headers | {
        "host": urlsplit(target.endpoint).netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ"),
    }
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{digest}"
    scope = f"{now:%Y%m%d}/{target.region}/s3/aws4_request"
    to_sign = f"{_ALGORITHM}\n{headers['x-amz-date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signing_key = f"AWS4{target.secret_key.reveal()}".encode()
    for part in (f"{now:%Y%m%d}", target.region, "s3", "aws4_request"):
        signing_key = hmac.new(signing_key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(signing_key, to_sign.encode(), hashlib.sha256).hexdigest()
    credential = f"{target.access_key}/{scope}"
    headers["authorization"] = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return target.endpoint + path, headers
