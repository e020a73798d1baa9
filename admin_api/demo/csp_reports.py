"""Reports of violated content security policies, in both of their formats.

``application/csp-report`` (Content Security Policy Level 3, section 5.3, report-uri): ``{"csp-report": {…}}`` with
dashes in the names; ``application/reports+json`` (Reporting API, section 2.4, and CSP3 section 5.2): a list of reports
of type ``csp-violation`` with a camelCase body. Of a report only the directive and the disposition are read, and both
are bounded: everything in it is the text of whoever sent it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headgate.kernel.canonical_json import JsonValue
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


@dataclass(frozen=True, slots=True)
class Violation:
    """``directive`` is ``other`` and ``disposition`` ``unknown`` where they are none of the standard's."""

    directive: str
    disposition: str


def parse_reports(document: JsonValue) -> tuple[Violation, ...]:
    """Raises ValidationError. Reports of other types, which browsers send along, are left out."""
    if isinstance(document, dict):
        body = document.get("csp-report")
        if not isinstance(body, dict):
            raise _malformed("csp-report: an object is expected")
        return (_violation(body, "effective-directive", "violated-directive"),)
    if not isinstance(document, list) or len(document) > _MOST_REPORTS:
        raise _malformed(f"a report, or a list of at most {_MOST_REPORTS} of them, is expected")
    violations = []
    for report in document:
        if not isinstance(report, dict) or not isinstance(report.get("type"), str):
            raise _malformed("every report is an object with a type")
        body = report.get("body")
        if report["type"] == "csp-violation":
            if not isinstance(body, dict):
                raise _malformed("body: an object is expected")
            violations.append(_violation(body, "effectiveDirective", "violatedDirective"))
    return tuple(violations)


def _violation(body: Mapping[str, JsonValue], *names: str) -> Violation:
    said = next((value for name in names if isinstance(value := body.get(name), str)), "")
    directive = said.split(" ", 1)[0].lower()
    disposition = body.get("disposition", "enforce")
    return Violation(
        directive if directive in _DIRECTIVES else "other",
        disposition if isinstance(disposition, str) and disposition in _DISPOSITIONS else "unknown",
    )


def _malformed(message: str) -> ValidationError:
    return ValidationError(message, details={"field": "body", "reason": "not a report"})
