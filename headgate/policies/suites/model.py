"""A folder of policies with its tests, and the test results."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.policies.compile import Libraries
from headgate.policies.documents import nested
from headgate.policies.model import DEFAULT_PRIORITY, PolicyMode


class Case(Struct, frozen=True):
    """A call and the expected verdict.

    ``expect`` holds the compared members (see ``cases``); ``record``, if given, is the whole record of the decision.
    ``now``: the value of ``time.now_ns()``. ``data``: documents that replace the folder's.
    """

    file: str
    name: str
    input: JsonObject
    expect: JsonObject
    record: JsonObject | None = None
    now: datetime | None = None
    data: JsonObject | None = None


class TestModule(Struct, frozen=True):
    """Rego with rules ``test_…`` about a policy, in a file of its own."""

    __test__ = False  # pytest takes names that begin with Test for its own

    file: str
    text: str


class SuitePolicy(Struct, frozen=True):
    """A policy in a file. ``key`` is the file's name without its ending; ``listed``: the manifest names it."""

    key: str
    file: str
    text: str
    name: str
    description: str | None = None
    priority: int = DEFAULT_PRIORITY
    enabled: bool = True
    mode: PolicyMode = PolicyMode.ENFORCE
    listed: bool = False
    tests: Sequence[TestModule] = ()
    cases: Sequence[Case] = ()


class Suite(Struct, frozen=True):
    """``documents`` are the data documents by path; ``modules`` the shared ones; ``cases`` are about all policies."""

    policies: Sequence[SuitePolicy]
    modules: Libraries
    documents: dict[str, JsonValue]
    cases: Sequence[Case] = ()

    @property
    def data(self) -> dict[str, JsonValue]:
        """The documents as the one object that policies read. Raises ValidationError."""
        return nested(self.documents)

    @property
    def together(self) -> Sequence[SuitePolicy]:
        """The policies for ``cases``: those of the manifest, or all without a manifest."""
        return [one for one in self.policies if one.listed] or self.policies


class Outcome(StrEnum):
    """``ERROR``: the test could not run (it does not compile, or it raised)."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class TestResult(Struct, frozen=True):
    """One test. ``message`` states expected and got, or why it could not run."""

    __test__ = False

    policy: str
    file: str
    name: str
    outcome: Outcome
    time_ms: float
    message: str | None = None


class Coverage(Struct, frozen=True):
    """The rules of one policy, and those that no test reached."""

    policy: str
    rules: int
    uncovered: tuple[str, ...]

    @property
    def covered(self) -> int:
        return self.rules - len(self.uncovered)


class SuiteReport(Struct, frozen=True):
    results: Sequence[TestResult]
    coverage: Sequence[Coverage]

    def count(self, outcome: Outcome) -> int:
        return sum(result.outcome is outcome for result in self.results)

    @property
    def passed(self) -> bool:
        return not self.count(Outcome.FAILED) and not self.count(Outcome.ERROR)

    @property
    def covered_percent(self) -> float:
        """Of all rules of all policies; a hundred where there are none."""
        rules = sum(one.rules for one in self.coverage)
        return 100.0 if rules == 0 else round(100 * sum(one.covered for one in self.coverage) / rules, 1)
