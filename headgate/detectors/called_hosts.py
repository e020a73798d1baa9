"""Where a call goes, for detectors that know hosts."""

from headgate.kernel.canonical_json import JsonValue


def called_host(value: JsonValue) -> str:
    """Of the call ``value``, in lower case; empty: there is none."""
    http = value.get("http") if isinstance(value, dict) else None
    return str(http.get("host", "")).lower().rstrip(".") if isinstance(http, dict) else ""


def tls_destination(value: JsonValue) -> tuple[str, str] | None:
    """Host and path; None: it is no call over TLS."""
    http = value.get("http") if isinstance(value, dict) else None
    if not isinstance(http, dict) or http.get("scheme") != "https":
        return None
    return called_host(value), str(http.get("path", ""))


def is_at(host: str, domain: str) -> bool:
    """Whether it is the domain or below it: ``evil-github.com`` is not below ``github.com``."""
    return f".{host}".endswith(f".{domain}")
