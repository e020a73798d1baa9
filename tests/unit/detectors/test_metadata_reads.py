"""A list of a cluster's secrets without their values is no read of credentials."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue

_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_ONE = "application/vnd.kubernetes.protobuf; g=meta.k8s.io; as=PartialObjectMetadata; v=v1"


def _found(
    accept: str | None,
    path: str = "/api/v1/namespaces/web/secrets",
    method: str = "GET",
    query: dict[str, JsonValue] | None = None,
) -> bool:
    headers: JsonValue = {} if accept is None else {"accept": accept}
    http: JsonValue = {
        "method": method,
        "scheme": "https",
        "host": "k8s.example",
        "path": path,
        "query": query or {},
        "headers": headers,
    }
    return "credential_file" in assess(EmbeddedModel.COMMANDS, {"tool": "http", "http": http}).issues


@pytest.mark.parametrize("accept", [_LIST, _ONE, f"{_LIST}, {_ONE}"])
def test_metadata_are_no_secrets(accept: str) -> None:
    assert not _found(accept)
    assert not _found(accept, "/api/v1/secrets")
    assert not _found(accept, "/api/v1/namespaces/web/secrets/tls")
    assert not _found(f"{accept};q=0.9", "/k8s/clusters/c-m-7x2kq/api/v1/secrets", query={"limit": ["500"]})
    assert _found(accept, method="POST")
    assert _found(accept, query={"includeObject": ["Object"]})


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/json",
        f"application/json, {_LIST}",
        f"{_LIST},application/json;q=0.1",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=Table;x=as=PartialObjectMetadata",
        "application/json;as=PartialObjectMetadataX",
        f"{_LIST};as=Table",
        f"application/json;as=Table;{_LIST.partition(';')[2]}",
        "application/json;\tas=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;g=other.example;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v9",
        "application/cbor-seq;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        f"{_LIST};charset=utf-8",
        f"{_LIST};",
    ],
)
def test_a_read_that_may_return_values_is_a_finding(accept: str | None) -> None:
    assert _found(accept)


def test_other_secrets_beside_the_metadata_are_found() -> None:
    assert _found(_LIST, "/files/etc/shadow/api/v1/secrets")
    assert _found(_LIST, "/api/v1/namespaces/../secrets")
