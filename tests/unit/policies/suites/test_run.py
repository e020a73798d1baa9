"""Tests beside policies: what passes, what fails and how that is said, and which rules were reached."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from headgate.kernel.errors import ValidationError
from headgate.policies.suites.folder import manifest_text, read_folder
from headgate.policies.suites.model import Outcome, SuiteReport
from headgate.policies.suites.report import junit_xml, report_lines
from headgate.policies.suites.run import run_suite

POLICY = """package mine

import rego.v1

deny contains message if {
	input.params.amount > data.limits.hard
	message := sprintf("%v is too much", [input.params.amount])
}

require_approval if weekend

allow if input.tool == "read"

weekend if time.weekday(time.now_ns()) in {"Saturday", "Sunday"}

approval := {"required_approvals": 2}

unused if input.params.never
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "limits.json").write_text('{"hard": 100}')
    (tmp_path / "mine.rego").write_text(POLICY)
    return tmp_path


def run(folder: Path) -> SuiteReport:
    return run_suite(read_folder(folder))


def outcomes(report: SuiteReport) -> dict[str, Outcome]:
    return {result.name: result.outcome for result in report.results}


def test_rego_tests_of_a_module_of_its_own(folder: Path) -> None:
    (folder / "mine_test.rego").write_text(
        """package mine_test

import rego.v1
import data.mine

test_reads if mine.allow with input as {"tool": "read"}

# mine.allow in a comment, and in a text, stays.
test_text if sprintf("%v", ["mine.allow"]) == "mine.allow"

test_weekend if {
	mine.require_approval with time.now_ns as time.parse_rfc3339_ns("2026-11-21T12:00:00Z")
	not mine.require_approval with time.now_ns as time.parse_rfc3339_ns("2026-11-23T12:00:00Z")
}

test_wrong if mine.allow with input as {"tool": "write"}

test_raises if to_number("x") == 1

todo_test_later if false
"""
    )
    report = run(folder)
    assert outcomes(report) == {
        "test_reads": Outcome.PASSED,
        "test_text": Outcome.PASSED,
        "test_weekend": Outcome.PASSED,
        "test_wrong": Outcome.FAILED,
        "test_raises": Outcome.ERROR,
        "todo_test_later": Outcome.SKIPPED,
    }
    raised = next(result for result in report.results if result.name == "test_raises")
    assert (raised.message or "").startswith("mine_test.rego:18:")
    assert not report.passed
    [coverage] = report.coverage
    assert (coverage.rules, coverage.uncovered) == (6, ("deny", "approval", "unused"))


def test_rego_tests_in_the_package_itself(folder: Path) -> None:
    (folder / "mine_test.rego").write_text(
        'package mine\n\ntest_a if allow with input as {"tool": "read"}\n\n'
        'test_b if count(deny) == 1 with input as {"params": {"amount": 7}} with data.limits.hard as 5\n'
    )
    assert set(outcomes(run(folder)).values()) == {Outcome.PASSED}


def test_a_mistake_in_a_module_of_tests_is_told_by_its_own_line(folder: Path) -> None:
    (folder / "mine_test.rego").write_text("package mine\n\nimport data.limits\n\ntest_a if nonsense(1)\n")
    [result] = run(folder).results
    assert (result.outcome, result.file) == (Outcome.ERROR, "mine_test.rego")
    assert result.message is not None
    assert result.message.startswith("mine_test.rego:5:11: ")


def test_a_mistake_in_the_policy_is_told_by_its_own_line(folder: Path) -> None:
    (folder / "mine.rego").write_text(POLICY + "\nbroken if nonsense(1)\n")
    [result] = run(folder).results
    assert (result.name, result.outcome) == ("compiles", Outcome.ERROR)
    assert "mine.rego:20:11" in (result.message or "")


def test_tests_of_another_package_are_refused(folder: Path) -> None:
    (folder / "mine_test.rego").write_text("package other\n\ntest_a if true\n")
    [result] = run(folder).results
    assert "must be in that package or in mine_test" in (result.message or "")


CASES = """
- name: too much
  input: {tool: pay, operation: send, params: {amount: 500}}
  expect: {decision: deny, messages: ["500 is too much"], rules: [deny], reason: 500 is too much}
  now: "2026-11-23T12:00:00Z"
- name: on a Saturday
  now: "2026-11-21T12:00:00Z"
  input: {tool: read, operation: get}
  expect: {decision: require_approval, approval: {required_approvals: 2}, rules: [require_approval, allow]}
- name: another limit
  now: "2026-11-23T12:00:00Z"
  input: {tool: read, operation: get, params: {amount: 7}}
  data: {limits: {hard: 5}}
  expect: {decision: deny, error: false}
- name: silent
  now: "2026-11-23T12:00:00Z"
  input: {tool: write, operation: it}
  expect: {decision: none, reason: null}
- name: fails
  now: "2026-11-23T12:00:00Z"
  input: {tool: read, operation: get}
  expect: {decision: deny, risk_level: high}
"""


def test_cases_say_what_was_expected_and_what_came(folder: Path) -> None:
    (folder / "mine.cases.yaml").write_text(CASES)
    report = run(folder)
    assert [outcome.value for outcome in outcomes(report).values()] == ["passed"] * 4 + ["failed"]
    assert report.results[-1].message == "decision is 'allow', expected 'deny'; risk_level is None, expected 'high'"
    assert report.coverage[0].uncovered == ("unused",)
    assert report.covered_percent == 83.3


def test_cases_of_all_policies_together(folder: Path) -> None:
    (folder / "policies.yaml").write_text("policies:\n  - {file: mine.rego, priority: 5}\n")
    (folder / "not_listed.rego").write_text("package other\n\ndeny := true\n")
    (folder / "cases").mkdir()
    (folder / "cases" / "all.yaml").write_text(
        "- name: too much\n  input: {tool: pay, operation: send, params: {amount: 500}}\n"
        "  expect: {decision: deny, policy: mine, risk_level: high}\n"
        "- name: the record\n  input: {tool: pay, operation: send, params: {amount: 500}}\n"
        "  record: {decision: deny, reason: 500 is too much, risk_level: high, policy_id: mine, policies: []}\n"
    )
    first, second = run(folder).results
    assert first.outcome is Outcome.PASSED
    assert (second.outcome, (second.message or "").split(" is ")[0]) == (Outcome.FAILED, "policies")


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ("name: x", "a list of cases is required"),
        ("- 1", "[0]: a mapping is required"),
        ("- {name: a, input: {tool: t, operation: o}}", "either expect or record"),
        ("- {name: a, input: {tool: t}, expect: {}}", "operation: a text is required"),
        ("- {name: a, input: {tool: t, operation: o}, expect: {verdict: deny}}", "verdict: unknown"),
        ("- {name: a, inputs: {}, expect: {}}", "inputs: unknown"),
        ("- {name: a, now: soon, input: {tool: t, operation: o}, expect: {}}", "ISO 8601"),
        ("- &a {name: a, input: {tool: t, operation: o}, expect: {}}\n- *a", "two cases are called 'a'"),
        ("- {name: a, name: b}", "is there twice"),
        ("- !!python/object:os.system {}", "not acceptable YAML"),
    ],
)
def test_bad_cases_are_named(folder: Path, cases: str, says: str) -> None:
    (folder / "mine.cases.yaml").write_text(cases)
    with pytest.raises(ValidationError, match=r".") as refusal:
        run(folder)
    assert says in refusal.value.message


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("policies: [{file: gone.rego}]", "there is no file gone.rego"),
        ("policies: [{file: mine.rego, priority: 1001}]", "a whole number from 0 to 1000"),
        ("policies: [{file: mine.rego, mode: loud}]", "enforce or shadow"),
        ("policies: [{file: mine.rego, enabled: 1}]", "true or false"),
        ("policies: [{file: ../mine.rego}]", "a path inside the folder"),
        ("policies: [{file: mine.rego}, {file: mine.rego}]", "is there twice"),
        ("policy: []", "unknown"),
    ],
)
def test_bad_manifests_are_named(folder: Path, manifest: str, says: str) -> None:
    (folder / "policies.yaml").write_text(manifest)
    with pytest.raises(ValidationError) as refusal:
        read_folder(folder)
    assert says in refusal.value.message


def test_a_folder_is_not_left_by_a_link(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other.rego").write_text("package other\n\nallow := true\n")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "file.rego").symlink_to(elsewhere / "other.rego")
    assert [policy.key for policy in read_folder(folder).policies] == ["mine"]


def test_a_manifest_is_read_as_it_was_written(folder: Path) -> None:
    text = 'policies:\n  - file: mine.rego\n    name: "a: \\"b\\" # ä"\n    description: "x"\n    priority: 7\n'
    (folder / "policies.yaml").write_text(text)
    first = read_folder(folder)
    (folder / "policies.yaml").write_text(manifest_text(list(first.policies)))
    assert read_folder(folder) == first
    (folder / "policies.yaml").write_text(manifest_text([]))
    assert not read_folder(folder).policies[0].listed


def test_reports_for_people_and_for_continuous_integration(folder: Path) -> None:
    (folder / "mine.cases.yaml").write_text(CASES)
    report = run(folder)
    lines = list(report_lines(report, all_results=False))
    assert lines[0].startswith("FAILED  mine.cases.yaml: fails: decision is 'allow'")
    assert lines[-1] == "4 passed, 1 failed; 5 of 6 rules reached (83.3 %)"
    suite = ET.fromstring(junit_xml(report))  # noqa: S314 - written a line above
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "0")
    failures = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failures == ["fails"]


def test_the_policies_that_come_with_headgate_pass_their_tests() -> None:
    """What continuous integration runs: ``headgate policy test config/policies``."""
    from headgate.configuration.resources import resource_path  # noqa: PLC0415 - beside its only use

    report = run_suite(read_folder(resource_path("policies")))
    assert [result for result in report.results if result.outcome is not Outcome.PASSED] == []
    assert report.results
    assert report.covered_percent == 100
