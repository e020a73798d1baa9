"""Whether a credential goes where it belongs: ``config/detectors/homes.yaml``.

Without it, signing in would be a leak. What agents sign in with in header fields is left out by a policy itself
(``scope.except_headers``).
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.detectors.model import Finding
from headgate.kernel.canonical_json import JsonValue

_QUERY: Final = "$.http.query"


@dataclass(frozen=True, slots=True)
class _Place:
    """A host, or a pattern of one, and what the path begins with."""

    host: str
    path: str

    def holds(self, host: str, path: str) -> bool:
        # Only whole labels: evil-github.com is not below github.com.
        below = host == self.host or host.endswith(f".{self.host}") or ("*" in self.host and self._fits(host))
        return below and (path == self.path or path.startswith(f"{self.path.rstrip('/')}/") or not self.path)

    def _fits(self, host: str) -> bool:
        return host.count(".") == self.host.count(".") and fnmatchcase(host, self.host)


@dataclass(frozen=True, slots=True)
class Homes:
    sign_in: tuple[_Place, ...]
    query: tuple[tuple[str, tuple[_Place, ...]], ...]

    def is_sign_in(self, value: JsonValue) -> bool:
        """Whether a call (``value``) signs in: every credential may go there."""
        where = _destination(value)
        return where is not None and any(place.holds(*where) for place in self.sign_in)

    def has(self, finding: Finding, host: str, path: str) -> bool:
        """Whether what was found belongs to ``host``, in lower case."""
        return finding.place.path.startswith(_QUERY) and any(
            finding.kind.startswith(f"{vendor}_") and any(place.holds(host, path) for place in places)
            for vendor, places in self.query
        )


@cache
def homes() -> Homes:
    """Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("detectors", "homes.yaml"))
    document.only("sign_in", "query")
    query = document.section("query")
    return Homes(
        tuple(map(_place, document.strings("sign_in"))),
        tuple((vendor, tuple(map(_place, query.strings(vendor)))) for vendor in query.members),
    )


def away_from_home(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """Those of a call (``value``) whose destination is not where they belong."""
    where = _destination(value) if findings else None
    if where is None:
        return findings
    if homes().is_sign_in(value):
        return ()
    return tuple(one for one in findings if not homes().has(one, *where))


def _destination(value: JsonValue) -> tuple[str, str] | None:
    """Host and path; None where it is no call over TLS."""
    http = value.get("http") if isinstance(value, dict) else None
    if not isinstance(http, dict) or http.get("scheme") != "https":
        return None
    return str(http.get("host", "")).lower(), str(http.get("path", ""))


def _place(text: str) -> _Place:
    host, slash, path = text.partition("/")
    return _Place(host, slash + path)
