"""Who a request of AWS says it is for: the scope of its signature (AWS, "Signature Version 4 for API requests").

In the header Authorization, in the members of a presigned URL, or in the fields of a form that uploads to S3. The
signature itself is the service's to check; it refuses a scope that is not its own.
"""

import re
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import ReadCall
from headgate.protocols.query import Pairs

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_ASYMMETRIC: Final = "AWS4-ECDSA-P256-SHA256"
_SCOPE: Final = r"[^/,\s]{1,256}/[0-9]{8}/(?P<region>[a-z0-9-]{1,64})/(?P<service>[A-Za-z0-9-]{1,64})/aws4_request"
_SCOPE_OF_ANY_REGION: Final = r"[^/,\s]{1,256}/[0-9]{8}/(?P<service>[A-Za-z0-9-]{1,64})/aws4_request"
_REST: Final = r",[ ]?SignedHeaders=[a-z0-9;_-]{1,4096},[ ]?Signature=[0-9a-fA-F]{1,512}"
_HEADER: Final = re.compile(rf"{_ALGORITHM} Credential={_SCOPE}{_REST}")
_ASYMMETRIC_HEADER: Final = re.compile(rf"{_ASYMMETRIC} Credential={_SCOPE_OF_ANY_REGION}{_REST}")
_CREDENTIAL: Final = re.compile(_SCOPE)
_ASYMMETRIC_CREDENTIAL: Final = re.compile(_SCOPE_OF_ANY_REGION)
_VERSION_2: Final = re.compile(r"AWS [^:,\s]{1,256}:[A-Za-z0-9+/=]{1,256}")
_VERSION_2_MEMBERS: Final = frozenset({"awsaccesskeyid", "signature"})


class Scope(Struct, frozen=True):
    """``region`` None: the signature names none. ``presigned``: it stands in the URL or in a form, which work for
    whoever has them."""

    service: str
    region: str | None
    presigned: bool = False


def read_scope(read_call: ReadCall, form: Pairs) -> Scope | None:
    """None: the request is not signed for AWS. ``form``: the fields of a multipart body.

    Raises AmbiguousRequestError: signed twice, or in a way that cannot be read.
    """
    found = [scope for scope in (_of_header(read_call), _of_url(read_call), _of_form(form)) if scope is not None]
    if len(found) > 1:
        raise _ambiguous("it is signed in more than one place")
    return found[0] if found else None


def _of_header(read_call: ReadCall) -> Scope | None:
    values = [value for name, value in read_call.call.headers if name.lower() == b"authorization"]
    ours = [value.decode("latin-1") for value in values if value.lstrip().lower().startswith(b"aws")]
    if not ours:
        return None
    if len(values) != 1:
        raise _ambiguous("it has several Authorization headers")
    [text] = ours
    if (match := _HEADER.fullmatch(text)) is not None:
        return Scope(match["service"], match["region"])
    if (match := _ASYMMETRIC_HEADER.fullmatch(text)) is not None:
        return Scope(match["service"], None)
    if _VERSION_2.fullmatch(text) is not None:
        return Scope("s3", None)
    raise _ambiguous("its Authorization header is not written as the SDKs of AWS write it")


def _of_url(read_call: ReadCall) -> Scope | None:
    names = [name for name in read_call.query if name.lower() in ("x-amz-credential", "x-amz-algorithm")]
    if not names:
        if {name.lower() for name in read_call.query} >= _VERSION_2_MEMBERS:
            return Scope("s3", None, presigned=True)
        return None
    algorithms, credentials = (read_call.query.get(name) for name in ("X-Amz-Algorithm", "X-Amz-Credential"))
    if len(names) == 2 and isinstance(credentials, list) and len(credentials) == 1:
        credential = str(credentials[0])
        if algorithms == [_ALGORITHM] and (match := _CREDENTIAL.fullmatch(credential)) is not None:
            return Scope(match["service"], match["region"], presigned=True)
        if algorithms == [_ASYMMETRIC] and (match := _ASYMMETRIC_CREDENTIAL.fullmatch(credential)) is not None:
            return Scope(match["service"], None, presigned=True)
    raise _ambiguous("its presigned URL is not written as the SDKs of AWS write it")


def _of_form(form: Pairs) -> Scope | None:
    credentials = [value for name, value in form if name.lower() == "x-amz-credential"]
    if not credentials:
        return None
    match = _CREDENTIAL.fullmatch(credentials[0]) if len(credentials) == 1 else None
    if match is None:
        raise _ambiguous("the x-amz-credential of its form cannot be read")
    return Scope(match["service"], match["region"], presigned=True)


def _ambiguous(reason: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the AWS request can be read in more than one way: {reason}", details={"field": "authorization"}
    )
