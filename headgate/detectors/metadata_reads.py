"""Reads of a cluster's secrets that ask for their metadata only (``PartialObjectMetadata`` of the Kubernetes API): the
answer has names and labels, and no value.
"""

import re
from typing import Final

from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonValue

_SECRETS_PATH: Final = re.compile(r"(?:/[\w.~-]+)*/api/v1/(?:namespaces/[\w.-]+/)?secrets(?:/[\w.-]+)?")
_METADATA: Final = re.compile(
    r"application/[\w.+-]+\s*(?:;\s*(?!as=)[\w.=-]+\s*)*;\s*as=PartialObjectMetadata(?:List)?\s*(?:;[^,]*)?"
)
_PATH_PLACE: Final = "$.http.path"


def without_metadata_reads(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings in a call (``value``), without those in its path if it asks for the metadata of secrets only."""
    if not any(one.place.path == _PATH_PLACE for one in findings) or not _asks_for_metadata(value):
        return findings
    return tuple(one for one in findings if one.place.path != _PATH_PLACE)


def _asks_for_metadata(value: JsonValue) -> bool:
    """Every media type that it accepts is one of metadata: a server may choose any of them."""
    http = value.get("http") if isinstance(value, dict) else None
    headers = http.get("headers") if isinstance(http, dict) else None
    if not isinstance(http, dict) or not isinstance(headers, dict) or http.get("method") != "GET":
        return False
    accepted = headers.get("accept")
    return (
        isinstance(accepted, str)
        and _SECRETS_PATH.fullmatch(str(http.get("path", ""))) is not None
        and all(_METADATA.fullmatch(one.strip()) is not None for one in accepted.split(","))
    )
