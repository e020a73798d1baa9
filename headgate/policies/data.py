"""The data documents that policies read beside their input."""

import json
from collections.abc import Mapping

from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict
from headgate.policies.documents import nested


def policy_data(allowlist: str | None, documents: Mapping[str, str] | None = None) -> bytes:
    """Builds ``data`` as canonical JSON: ``{"allowlist": …}`` (``{}`` if never set) and the organization's
    ``documents``, which are canonical JSON by path.

    ``allowlist`` is the text of the setting's document. Raises ValidationError if it is not JSON, or if one document
    would be inside another.
    """
    settings: JsonValue = {} if allowlist is None else parse_strict(allowlist.encode())
    values: dict[str, JsonValue] = {path: json.loads(content) for path, content in (documents or {}).items()}
    return canonical_bytes({**nested(values), "allowlist": settings})


def data_roots(data: bytes) -> frozenset[str]:
    """The names of the documents below ``data``: a policy cannot define rules of the same path."""
    document = json.loads(data)
    return frozenset(document) if isinstance(document, dict) else frozenset()
