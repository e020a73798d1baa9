"""A call's only key in a header field that is named as one (``DHL-API-Key``, ``authkey``, ``X-Shop-Token``).

Policies except the common fields with which agents sign in by their names (``scope.except_headers``), whatever the
host; vendors have hundreds of others. A key without the form of a vendor may stand in one, where nothing else signs in.
"""

import re
from typing import Final

from headgate.detectors.called_hosts import tls_destination
from headgate.detectors.credential_homes import credential_homes
from headgate.detectors.model import Finding, text_at_path
from headgate.detectors.public_hosts import is_public
from headgate.detectors.service_hosts import free_hosts
from headgate.kernel.canonical_json import JsonValue

_KINDS: Final = frozenset(("token", "key_header"))
"""Keys that do not say whose they are."""
_NAMED: Final = re.compile(r"(?:[a-z0-9]+[-_]){0,4}(?:(?:api|auth|access|app|client|secret)?[-_]?(?:key|token))")
_OTHER: Final = re.compile(
    r"(?:^|[-_])(?:trace|debug|request|correlation|log|session|cache|tracking|telemetry|diag\w*|build|push|refresh|old"
    r"|previous|backup|dump|meta|data|info|note|ref|sort|partition|idempotency|stolen|leak\w*|exfil\w*|private|ssh|encryption"
    r"|root|master|admin|jwt|signing|db|database|sql|vault)"
    r"(?:$|[-_])"
)
"""Words of fields that carry a value for another purpose."""
_VENDORS: Final = frozenset(
    {"aws", "amz", "amazon", "azure", "gcp", "google", "github", "gitlab", "bitbucket", "slack", "openai", "anthropic"}
    | {"stripe", "twilio", "heroku", "cloudflare", "datadog", "npm", "pypi", "docker", "jira", "atlassian", "notion"}
    | {"linear", "salesforce", "hubspot", "shopify"}
)
"""A field that names one of them signs in at that vendor's."""
_ONE_KEY: Final = re.compile(r"[\w=~.+/-]{8,512}")
_FIELD_STEPS: Final = 3
"""``$.http.headers.authkey``."""


def without_signing_header(findings: tuple[Finding, ...], value: JsonValue, *, signs_in: bool) -> tuple[Finding, ...]:
    """The findings in a call (``value``) without its key. ``signs_in``: a field that the policy excepts does so."""
    keys = [one for one in findings if _is_key(one, value)]
    if not keys or signs_in or len({one.span.path for one in keys if one.span is not None}) > 1:
        return findings
    where = tls_destination(value)
    if where is None or f".{where[0]}".endswith(free_hosts()) or _is_address(where[0]):
        return findings
    if any(one in _VENDORS and one not in where[0] for key in keys for one in _words_of_name(key)):
        return findings
    return tuple(one for one in findings if one not in keys)


def _words_of_name(key: Finding) -> list[str]:
    name = "" if key.span is None else key.span.path[-1]
    return re.split(r"[-_]", name) if isinstance(name, str) else []


def _is_key(finding: Finding, value: JsonValue) -> bool:
    """Whether it is all of a field of this sort."""
    span = finding.span
    if finding.kind not in _KINDS or span is None or span.path[:2] != ("http", "headers"):
        return False
    name, text = span.path[-1], text_at_path(value, span.path)
    return (
        len(span.path) == _FIELD_STEPS
        and isinstance(name, str)
        and _NAMED.fullmatch(name) is not None
        and _OTHER.search(name) is None
        and text is not None
        and _ONE_KEY.fullmatch(text) is not None
        and not any(text.startswith(home.begins) for home in credential_homes())
    )


def _is_address(host: str) -> bool:
    """Whether it is a public address of a machine, which no vendor's documentation names."""
    return is_public(host) and (host.rpartition(".")[2][:1].isdigit() or ":" in host)
