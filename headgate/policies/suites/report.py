"""Formats test results for people, for programs, and for continuous integration (JUnit XML)."""

from collections.abc import Iterator

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.suites.model import Outcome, SuiteReport, TestResult

_MARKS = {Outcome.PASSED: "ok", Outcome.FAILED: "FAILED", Outcome.ERROR: "ERROR", Outcome.SKIPPED: "skipped"}


def report_lines(report: SuiteReport, *, all_results: bool) -> Iterator[str]:
    """One line per failed test (or per test), the rules that no test reached, and the sums."""
    for result in report.results:
        if all_results or result.outcome in {Outcome.FAILED, Outcome.ERROR}:
            line = f"{_MARKS[result.outcome]:8}{result.file}: {result.name}"
            yield line if result.message is None else f"{line}: {result.message}"
    for one in report.coverage:
        if one.uncovered:
            yield f"not reached in {one.policy}: {', '.join(one.uncovered)}"
    counts = ", ".join(f"{report.count(outcome)} {outcome}" for outcome in Outcome if report.count(outcome))
    rules, covered = sum(one.rules for one in report.coverage), sum(one.covered for one in report.coverage)
    yield f"{counts or 'no tests'}; {covered} of {rules} rules reached ({report.covered_percent:g} %)"


def report_document(report: SuiteReport) -> JsonObject:
    results: list[JsonValue] = [_result(one) for one in report.results]
    coverage: list[JsonValue] = [
        {"policy": one.policy, "rules": one.rules, "covered": one.covered, "uncovered": [*one.uncovered]}
        for one in report.coverage
    ]
    counts: JsonObject = {outcome.value: report.count(outcome) for outcome in Outcome}
    return {
        "passed": report.passed,
        "counts": counts,
        "results": results,
        "coverage": {"percent": report.covered_percent, "policies": coverage},
    }


def _result(result: TestResult) -> JsonObject:
    return {
        "policy": result.policy or None,
        "file": result.file,
        "name": result.name,
        "outcome": result.outcome.value,
        "message": result.message,
        "time_ms": result.time_ms,
    }


def junit_xml(report: SuiteReport) -> bytes:
    """One ``testsuite``, the form that continuous integration reads (there is no standard; this is Ant's)."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - for this form alone

    seconds = sum(one.time_ms for one in report.results) / 1000
    suite = ET.Element(
        "testsuite",
        name="policies",
        tests=str(len(report.results)),
        failures=str(report.count(Outcome.FAILED)),
        errors=str(report.count(Outcome.ERROR)),
        skipped=str(report.count(Outcome.SKIPPED)),
        time=f"{seconds:.3f}",
    )
    for one in report.results:
        case = ET.SubElement(
            suite, "testcase", classname=_xml_text(one.file), name=_xml_text(one.name), time=f"{one.time_ms / 1000:.3f}"
        )
        if one.outcome is not Outcome.PASSED:
            kind = {Outcome.FAILED: "failure", Outcome.ERROR: "error", Outcome.SKIPPED: "skipped"}[one.outcome]
            ET.SubElement(case, kind, message=_xml_text(one.message or ""))
    ET.indent(suite)
    written: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _xml_text(text: str) -> str:
    """Removes the characters that XML 1.0 (section 2.2) cannot contain."""
    return "".join(one if one in "\t\n\r" or ord(one) >= 0x20 else "�" for one in text if one not in "￾￿")
