"""The operation of a call to S3's REST API, by method, address and query (Amazon S3, "API Reference").

Strict: two members that each name another operation, a member in another spelling and one that nobody knows are no
operation. A service of the same form may read them as one.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError

_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_COPY_SOURCE: Final = "x-amz-copy-source"
_SOURCE: Final = re.compile(r"/?(?P<bucket>[^/?]+)/(?P<key>[^?]+)(?:\?versionId=(?P<version>[A-Za-z0-9._~-]{1,1024}))?")
_BUCKET_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "accelerate": "BucketAccelerateConfiguration",
        "acl": "BucketAcl",
        "analytics": "BucketAnalyticsConfiguration",
        "cors": "BucketCors",
        "encryption": "BucketEncryption",
        "intelligent-tiering": "BucketIntelligentTieringConfiguration",
        "inventory": "BucketInventoryConfiguration",
        "lifecycle": "BucketLifecycleConfiguration",
        "logging": "BucketLogging",
        "metrics": "BucketMetricsConfiguration",
        "notification": "BucketNotificationConfiguration",
        "object-lock": "ObjectLockConfiguration",
        "ownershipControls": "BucketOwnershipControls",
        "policy": "BucketPolicy",
        "publicAccessBlock": "PublicAccessBlock",
        "replication": "BucketReplication",
        "requestPayment": "BucketRequestPayment",
        "tagging": "BucketTagging",
        "versioning": "BucketVersioning",
        "website": "BucketWebsite",
    }
)
_LISTED_SETTINGS: Final = frozenset({"analytics", "intelligent-tiering", "inventory", "metrics"})
_UNDELETABLE: Final = frozenset(
    {"accelerate", "acl", "logging", "notification", "object-lock", "requestPayment", "versioning"}
)
_DELETED_OTHERWISE: Final[Mapping[str, str]] = MappingProxyType({"lifecycle": "DeleteBucketLifecycle"})
_OF_BUCKET: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("GET", ""): "ListObjects",
        ("GET", "list-type"): "ListObjectsV2",
        ("GET", "location"): "GetBucketLocation",
        ("GET", "policyStatus"): "GetBucketPolicyStatus",
        ("GET", "uploads"): "ListMultipartUploads",
        ("GET", "versions"): "ListObjectVersions",
        ("HEAD", ""): "HeadBucket",
        ("PUT", ""): "CreateBucket",
        ("DELETE", ""): "DeleteBucket",
        ("POST", ""): "PostObject",
        ("POST", "delete"): "DeleteObjects",
        **{("GET", name): f"Get{setting}" for name, setting in _BUCKET_SETTINGS.items()},
        **{("PUT", name): f"Put{setting}" for name, setting in _BUCKET_SETTINGS.items()},
        **{
            ("DELETE", name): _DELETED_OTHERWISE.get(name, f"Delete{setting}")
            for name, setting in _BUCKET_SETTINGS.items()
            if name not in _UNDELETABLE
        },
    }
)
_OF_OBJECT: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("GET", ""): "GetObject",
        ("GET", "acl"): "GetObjectAcl",
        ("GET", "attributes"): "GetObjectAttributes",
        ("GET", "legal-hold"): "GetObjectLegalHold",
        ("GET", "retention"): "GetObjectRetention",
        ("GET", "tagging"): "GetObjectTagging",
        ("GET", "torrent"): "GetObjectTorrent",
        ("GET", "uploadId"): "ListParts",
        ("HEAD", ""): "HeadObject",
        ("PUT", ""): "PutObject",
        ("PUT", "acl"): "PutObjectAcl",
        ("PUT", "legal-hold"): "PutObjectLegalHold",
        ("PUT", "retention"): "PutObjectRetention",
        ("PUT", "tagging"): "PutObjectTagging",
        ("PUT", "uploadId"): "UploadPart",
        ("POST", "uploads"): "CreateMultipartUpload",
        ("POST", "uploadId"): "CompleteMultipartUpload",
        ("POST", "restore"): "RestoreObject",
        ("POST", "select"): "SelectObjectContent",
        ("DELETE", ""): "DeleteObject",
        ("DELETE", "tagging"): "DeleteObjectTagging",
        ("DELETE", "uploadId"): "AbortMultipartUpload",
    }
)
_COPIES: Final[Mapping[str, str]] = MappingProxyType({"PutObject": "CopyObject", "UploadPart": "UploadPartCopy"})
_SUBRESOURCES: Final = frozenset(name for _, name in (*_OF_BUCKET, *_OF_OBJECT)) - {""}
_MODIFIERS: Final = frozenset(
    {"continuation-token", "delimiter", "encoding-type", "fetch-owner", "id", "key-marker", "marker", "max-buckets"}
    | {"max-keys", "max-parts", "max-uploads", "part-number-marker", "partNumber", "prefix", "select-type"}
    | {"start-after", "upload-id-marker", "version-id-marker", "versionId", "x-id", "bucket-region"}
    | {f"response-{name}" for name in ("cache-control", "content-disposition", "content-encoding")}
    | {f"response-{name}" for name in ("content-language", "content-type", "expires")}
)
_OF_SIGNATURES: Final = frozenset({"awsaccesskeyid", "signature", "expires"})
_SOURCES: Final = ("x-amz-copy-source", "x-amz-rename-source")
_DOTS: Final = frozenset({".", ".."})
_RESERVED: Final = "minio"
"""No bucket of MinIO, but where its administration is, whose requests are signed for S3, too."""
_EXTRACTS: Final = "x-amz-meta-snowball-auto-extract"
"""A header by which Snow devices and MinIO write all members of an archive, each under a key of its own."""
_BARE_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KNOWN_IN_LOWER_CASE: Final = frozenset(name.lower() for name in _SUBRESOURCES)


class S3Call(Struct, frozen=True):
    """``operation`` None: it cannot be told. ``bucket`` and ``key`` are decoded; None: there is none."""

    operation: str | None
    bucket: str | None
    key: str | None
    copy_source: JsonObject | None = None


def read_s3(
    method: str, path: str, query: JsonObject, headers: JsonObject, *, bucket: str | None, folds_slashes: bool
) -> S3Call:
    """``path``: as it was sent. ``bucket``: in the host's name; None: it is the first segment of the path.
    ``folds_slashes``: whether the server may take ``a//b`` for ``a/b``.

    Raises AmbiguousRequestError: an address that servers of S3 read differently.
    """
    bucket, key = _address(path, bucket, folds_slashes=folds_slashes)
    operation = _operation(method, bucket, key, query)
    source = _copy_source(headers)
    if source is not None and method != "PUT":
        raise _ambiguous("only a PUT copies from another object", field=_COPY_SOURCE)
    if source is not None:
        operation = _COPIES.get(operation or "")
    if folds_slashes and bucket == _RESERVED:
        return S3Call(None, bucket, key, source)
    if _EXTRACTS in headers:
        return S3Call(None, bucket, None, source)
    return S3Call(operation, bucket, key, source)


def _address(path: str, bucket: str | None, *, folds_slashes: bool) -> tuple[str | None, str | None]:
    if "+" in path:
        raise _ambiguous("a plus sign in the path is a space to some servers: write it as %2B", field="path")
    if "//" in path and (folds_slashes or path.startswith("//")):
        raise _ambiguous("the path has an empty segment", field="path")
    rest = path[1:]
    if bucket is None:
        first, _, rest = rest.partition("/")
        if not first:
            return None, None
        bucket = unquote(first)
        if _BUCKET.fullmatch(bucket) is None:
            raise _ambiguous("the first segment of the path is not a bucket name", field="path")
    return bucket, unquote(rest) or None


def _operation(method: str, bucket: str | None, key: str | None, query: JsonObject) -> str | None:
    subresource = _subresource(query)
    if subresource is None:
        return None
    if bucket is None:
        return "ListBuckets" if method == "GET" and not subresource else None
    if key is not None:
        is_part = "partNumber" in query
        if method == "PUT" and is_part != (subresource == "uploadId"):
            return None
        return _OF_OBJECT.get((method, subresource))
    if method == "GET" and subresource in _LISTED_SETTINGS and "id" not in query:
        return f"List{_BUCKET_SETTINGS[subresource]}s"
    if subresource == "list-type" and query[subresource] != ["2"]:
        return None
    return _OF_BUCKET.get((method, subresource))


def _subresource(query: JsonObject) -> str | None:
    """The member that names what of the bucket or object is meant; empty: itself. None: there is a member that nobody
    knows, which may name something else."""
    named: list[str] = []
    for name, values in query.items():
        lowered = name.lower()
        if name in _SUBRESOURCES:
            named.append(name)
        elif lowered in _KNOWN_IN_LOWER_CASE:
            raise _ambiguous(f"some servers take the member {name} for one in another spelling", field="query")
        elif lowered.startswith(_SOURCES):
            # SDKs move headers into a presigned URL, and S3 takes some of them from there.
            raise _ambiguous("the source of a copy stands in the query", field="query")
        elif name not in _MODIFIERS and not _is_of_signature(lowered):
            return None
        if isinstance(values, list) and len(values) != 1:
            raise _ambiguous(f"the member {name[:80]} of the query is there more than once", field="query")
    if len(named) > 1:
        raise _ambiguous(f"the query names {' and '.join(sorted(named))}", field="query")
    return named[0] if named else ""


def _is_of_signature(name: str) -> bool:
    """Of a presigned URL, with the headers that SDKs move there."""
    return name.startswith("x-amz-") or name in _OF_SIGNATURES


def _copy_source(headers: JsonObject) -> JsonObject | None:
    """``{bucket, key}``, decoded, of the header by which S3 reads another object."""
    value = headers.get(_COPY_SOURCE)
    if value is None:
        return None
    is_plain = isinstance(value, str) and value.isascii() and "+" not in value and not _BARE_PERCENT.search(value)
    match = _SOURCE.fullmatch(str(value)) if is_plain else None
    if match is None or "%2f" in match["bucket"].lower():
        raise _ambiguous("the source of the copy is not /BUCKET/KEY, percent-encoded", field=_COPY_SOURCE)
    try:
        bucket, key = (unquote_to_bytes(match[name]).decode() for name in ("bucket", "key"))
    except UnicodeDecodeError:
        raise _ambiguous("the source of the copy is not UTF-8", field=_COPY_SOURCE) from None
    if _BUCKET.fullmatch(bucket) is None:
        raise _ambiguous("the source of the copy names no bucket", field=_COPY_SOURCE)
    if not _DOTS.isdisjoint(key.split("/")):
        # MinIO resolves them before it looks for the bucket.
        raise _ambiguous("the source of the copy has a segment . or ..", field=_COPY_SOURCE)
    return {"bucket": bucket, "key": key, "version_id": match["version"]}


def _ambiguous(reason: str, *, field: str) -> AmbiguousRequestError:
    return AmbiguousRequestError(
        f"the request to S3 can be read in more than one way: {reason}", details={"field": field}
    )
