"""A list of a cluster's secrets without their values is no read of credentials."""

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue

_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_ONE = "application/vnd.kubernetes.protobuf; g=meta.k8s.io; as=PartialObjectMetadata; v=v1"


def _found(accept: str | None, path: str = "/api/v1/namespaces/web/secrets", method: str = "GET") -> bool:
    headers: JsonValue = {} if accept is None else {"accept": accept}
    http: JsonValue = {
        "method": method,
        "scheme": "https",
        "host": "k8s.example",
        "path": path,
        "query": {},
        "headers": headers,
    }
    return "credential_file" in assess(EmbeddedModel.COMMANDS, {"tool": "http", "http": http}).issues


@pytest.mark.parametrize("accept", [_LIST, _ONE, f"{_LIST}, {_ONE}"])
def test_metadata_are_no_secrets(accept: str) -> None:
    assert not _found(accept)
    assert not _found(accept, "/api/v1/secrets")
    assert not _found(accept, "/api/v1/namespaces/web/secrets/tls")
    assert _found(accept, method="POST")


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
    ],
)
def test_where_values_may_be_answered_it_is_a_read(accept: str | None) -> None:
    assert _found(accept)
