"""``headgate policy test``: the tests that lie beside policies, run here, without an instance."""

import re
import sys
from pathlib import Path

import click
from msgspec.structs import replace

from headgate.cli.tables import safe, show_json
from headgate.kernel.errors import ValidationError
from headgate.policies.suites.folder import read_folder
from headgate.policies.suites.report import junit_xml, report_document, report_lines
from headgate.policies.suites.run import run_suite


@click.command("test")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Also write the results as JUnit XML.")
@click.option("--only", help="Policies whose name matches this regular expression.")
@click.option(
    "--minimum-coverage",
    type=click.FloatRange(0, 100),
    help="Fail if the tests cover less than this percentage of rules.",
)
@click.option("--verbose", is_flag=True, help="Also show passed tests.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def test(
    folder: Path, junit: Path | None, only: str | None, minimum_coverage: float | None, verbose: bool, as_json: bool
) -> None:
    """Run the tests of the policies in FOLDER: rules test_…, NAME.cases.yaml, and cases/*.yaml for all together."""
    suite = read_folder(folder)
    if only is not None:
        kept = tuple(one for one in suite.policies if re.search(only, one.key))
        suite = replace(suite, policies=kept, cases=())
    if not suite.policies and not suite.cases:
        which = "no policy" if only is None else f"no policy whose name matches {only}"
        raise ValidationError(
            f"{safe(folder)} contains {safe(which)}: expected NAME.rego, or the files that policies.yaml names"
        )
    report = run_suite(suite)
    if junit is not None:
        junit.write_bytes(junit_xml(report))
    if as_json:
        show_json(report_document(report))
    else:
        for line in report_lines(report, all_results=verbose):
            click.echo(safe(line))
    below = minimum_coverage is not None and report.covered_percent < minimum_coverage
    if below:
        click.echo(f"rules covered: {report.covered_percent:g}%, below {minimum_coverage:g}%", err=True)
    if below or not report.passed:
        sys.exit(1)
