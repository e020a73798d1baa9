"""The data documents that policies read beside their input."""

import json
from collections.abc import Mapping

from headgate.kernel.canonical_json import JsonValue, canonical_bytes, parse_strict
from headgate.policies.documents import nested


def policy_data(allowlist: str | None, documents: Mapping[str, str] | None = None) -> bytes:
    """``data`` as canonical JSON: ``{"allowlist": …}``, with ``{}`` where the organization never set one, and its
    ``documents``, canonical JSON by path.

    ``allowlist`` is the text of the setting's document. Raises ValidationError where it is not JSON, and where a
    document would be inside another.
    """
    settings: JsonValue = {} if allowlist is None else parse_strict(allowlist.encode())
    values: dict[str, JsonValue] = {path: json.loads(content) for path, content in (documents or {}).items()}
    return canonical_bytes({**nested(values), "allowlist": settings})


def data_roots(data: bytes) -> frozenset[str]:
    """The names below ``data`` that are documents: a policy cannot define rules of the same path."""
    document = json.loads(data)
    return frozenset(document) if isinstance(document, dict) else frozenset()
