"""The data documents that policies read beside their input."""

import json

from headgate.kernel.canonical_json import canonical_bytes, parse_strict


def policy_data(allowlist: str | None) -> bytes:
    """``data`` as canonical JSON: ``{"allowlist": …}``, with ``{}`` where the organization never set one.

    ``allowlist`` is the text of the setting's document. Raises ValidationError where it is not JSON.
    """
    document = {} if allowlist is None else parse_strict(allowlist.encode())
    return canonical_bytes({"allowlist": document})


def data_roots(data: bytes) -> frozenset[str]:
    """The names below ``data`` that are documents: a policy cannot define rules of the same path."""
    document = json.loads(data)
    return frozenset(document) if isinstance(document, dict) else frozenset()
