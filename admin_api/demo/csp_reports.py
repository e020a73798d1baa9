"""Reports of violated content security policies, in both of their formats.

``application/csp-report`` (Content Security Policy Level 3, section 5.3, report-uri): ``{"csp-report": {…}}`` with
dashes in the names; ``application/reports+json`` (Reporting API, section 2.4, and CSP3 section 5.2): a list of reports
of type ``csp-violation`` with a camelCase body. Of a report only the directive and the disposition are read, and both
are bounded: everything in it is the text of whoever sent it.
"""

import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError

MOST_REPORT_BYTES: Final = 64 * 1024
_MOST_REPORTS: Final = 100
_DIRECTIVES: Final = frozenset(
    {
        "base-uri",
        "child-src",
        "connect-src",
        "default-src",
        "font-src",
        "form-action",
        "frame-ancestors",
        "frame-src",
        "img-src",
        "manifest-src",
        "media-src",
        "object-src",
        "require-trusted-types-for",
        "sandbox",
        "script-src",
        "script-src-attr",
        "script-src-elem",
        "style-src",
        "style-src-attr",
        "style-src-elem",
        "trusted-types",
        "upgrade-insecure-requests",
        "worker-src",
    }
)
_DISPOSITIONS: Final = frozenset({"enforce", "report"})


class Violation(Struct, frozen=True):
    """``directive`` is ``other`` and ``disposition`` ``unknown`` where they are none of the standard's."""

    directive: str
    disposition: str


def read_report(body: bytes) -> object:
    """Any JSON text (RFC 8259), whatever its names are. Raises ValidationError."""
    try:
        return json.loads(body, parse_int=float, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ValidationError("not JSON", details={"field": "body", "reason": "not JSON"}) from error


def parse_reports(document: object) -> tuple[Violation, ...]:
    """The reported violations. Reports of other types, which browsers also send, give none."""
    if isinstance(document, dict):
        body = document.get("csp-report")
        return (_violation(body, "effective-directive", "violated-directive"),) if isinstance(body, dict) else ()
    reports = document[:_MOST_REPORTS] if isinstance(document, list) else []
    return tuple(
        _violation(report["body"], "effectiveDirective", "violatedDirective")
        for report in reports
        if isinstance(report, dict) and report.get("type") == "csp-violation" and isinstance(report.get("body"), dict)
    )


def _no_number(text: str) -> float:
    raise ValueError(text)


def _violation(body: Mapping[str, object], *names: str) -> Violation:
    said = next((value for name in names if isinstance(value := body.get(name), str)), "")
    directive = said.split(" ", 1)[0].lower()
    disposition = body.get("disposition", "enforce")
    return Violation(
        directive if directive in _DIRECTIVES else "other",
        disposition if isinstance(disposition, str) and disposition in _DISPOSITIONS else "unknown",
    )
