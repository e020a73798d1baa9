"""The signature is the one that botocore makes of the same call."""

import json
from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headgate.connections.credential import SigningCredential
from headgate.connections.signing import sign
from headgate.kernel.secrets import Secret
from headgate.protocols.http_call import HttpCall

_AT = datetime(2026, 11, 21, 18, 0, 0, tzinfo=UTC)
_ID, _SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
_CALLS = [
    ("GET", "ec2.eu-west-1.amazonaws.com", "/", "Action=DescribeRegions&Version=2016-11-15", b"", {}),
    ("GET", "bucket.s3.eu-west-1.amazonaws.com", "/a%20b/%C3%A9.txt", "list-type=2&prefix=a%2Fb&x", b"", {}),
    ("GET", "bucket.s3.eu-west-1.amazonaws.com", "/a%2Fb/c%252Fd", "", b"", {}),
    ("PUT", "bucket.s3.eu-west-1.amazonaws.com", "/key", "", b"data", {"Content-Type": "text/plain"}),
    ("POST", "sqs.eu-west-1.amazonaws.com", "/", "", json.dumps({"a": 1}).encode(), {"X-Amz-Target": "AmazonSQS.Send"}),
    ("GET", "lambda.eu-west-1.amazonaws.com", "/2015-03-31/tags/arn%3Aaws%3Alambda%2Ffn", "", b"", {}),
    ("GET", "iam.amazonaws.com", "/a/b%2Bc/", "b=2&a=1&a=0", b"", {"X-Amz-Meta-A": "  two   blanks "}),
]


@pytest.mark.parametrize("session", [None, "session-token/of+this=="])
@pytest.mark.parametrize("call", _CALLS, ids=lambda call: call[1] + call[2])
def test_it_is_botocores_signature(monkeypatch, call, session: str | None) -> None:
    method, host, path, query, body, headers = call
    service = host.split(".")[1] if host.startswith("bucket") else host.split(".")[0]
    raw = tuple((name.encode(), value.encode()) for name, value in headers.items())
    placeholder = (b"Authorization", b"AWS4-HMAC-SHA256 Credential=hg_placeholder_aws/x, Signature=0")
    ours = sign(
        HttpCall(
            method, "https", host, 443, path, query, (*raw, placeholder, (b"X-Amz-Date", b"19700101T000000Z")), body
        ),
        SigningCredential(_ID, Secret(_SECRET), None if session is None else Secret(session), "eu-west-1", service),
        _AT,
    )
    import botocore.auth  # noqa: PLC0415 - its clock is replaced

    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: _AT.replace(tzinfo=None), raising=False)
    url = f"https://{host}{path}" + (f"?{query}" if query else "")
    theirs = AWSRequest(method, url, headers=dict(headers), data=body)
    signer = (S3SigV4Auth if service == "s3" else SigV4Auth)(Credentials(_ID, _SECRET, session), service, "eu-west-1")
    theirs.context["payload_signing_enabled"] = True
    signer.add_auth(theirs)
    found = dict(ours.headers)
    assert found[b"authorization"].decode() == theirs.headers["Authorization"]
    assert found[b"x-amz-date"].decode() == theirs.headers["X-Amz-Date"] == "20261121T180000Z"
    assert b"Authorization" not in found and (b"x-amz-security-token" in found) == (session is not None)
