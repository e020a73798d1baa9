"""Reads of a cluster's secrets that ask for their metadata only (``PartialObjectMetadata`` of the Kubernetes API): the
answer has names and labels, and no value.
"""

import re
from typing import Final

from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonValue

_SECRETS_PATH: Final = re.compile(
    r"(?:/k8s/clusters/[a-z0-9-]+)?/api/v1/(?:namespaces/[a-z0-9][a-z0-9-]*/)?secrets(?:/[a-z0-9][a-z0-9.-]*)?"
)
"""Of the API, also behind Rancher."""

_MEDIA_TYPES: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_PARAMETERS: Final = {
    "as": re.compile("PartialObjectMetadata(?:List)?"),
    "g": re.compile("meta[.]k8s[.]io"),
    "v": re.compile("v1(?:beta1)?"),
    "q": re.compile(r"0[.][0-9]{1,3}|1(?:[.]0{1,3})?"),
}
_REQUIRED: Final = {"as", "g", "v"}
_QUERY: Final = frozenset(
    {"continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion", "resourceVersionMatch"}
)
"""``includeObject=Object`` adds the whole objects to a table."""

_PATH_PLACE: Final = "$.http.path"
_KIND: Final = "credential_file"


def without_metadata_reads(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings in a call (``value``), without the credentials in its path if it asks for their metadata only."""
    if not any(_is_in_path(one) for one in findings) or not _asks_for_metadata(value):
        return findings
    return tuple(one for one in findings if not _is_in_path(one))


def _is_in_path(finding: Finding) -> bool:
    return finding.kind == _KIND and finding.place.path == _PATH_PLACE


def _asks_for_metadata(value: JsonValue) -> bool:
    """Every media type that it accepts is one of metadata: a server may choose any of them."""
    http = value.get("http") if isinstance(value, dict) else None
    if not isinstance(http, dict) or http.get("method") != "GET":
        return False
    headers, query, path = http.get("headers"), http.get("query", {}), http.get("path")
    if not isinstance(headers, dict) or not isinstance(query, dict) or not isinstance(path, str):
        return False
    accepted = headers.get("accept")
    return (
        isinstance(accepted, str)
        and _SECRETS_PATH.fullmatch(path) is not None
        and _QUERY.issuperset(query)
        and all(_is_of_metadata(one) for one in accepted.split(","))
    )


def _is_of_metadata(media_type: str) -> bool:
    """In one form, as Kubernetes reads any other differently: it takes the last of several parameters of one name, and
    trims spaces, but not tabs."""
    name, *parameters = (one.strip(" ") for one in media_type.split(";"))
    pairs = [one.partition("=")[::2] for one in parameters]
    names = [key for key, _ in pairs]
    return (
        name in _MEDIA_TYPES
        and len(set(names)) == len(names)
        and _REQUIRED.issubset(names)
        and all(key in _PARAMETERS and _PARAMETERS[key].fullmatch(text) is not None for key, text in pairs)
    )
