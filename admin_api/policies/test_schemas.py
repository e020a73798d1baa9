"""Bodies of POST /admin/policies/test."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from admin_api.json_values import WholeNumber
from admin_api.schema import BaseModel
from headgate.policies.model import DEFAULT_PRIORITY, NAME_MAX_CHARACTERS, PRIORITY_MAX, REGO_MAX_BYTES, PolicyMode

_POLICIES_MAX = 50
_CASES_MAX = 500


class PolicyUnderTest(BaseModel):
    """A policy with its tests: rules ``test_…`` in it or in ``tests``, and ``cases``."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="policy", min_length=1, max_length=NAME_MAX_CHARACTERS)
    rego_policy: str = Field(min_length=1, max_length=REGO_MAX_BYTES)
    priority: WholeNumber = Field(default=DEFAULT_PRIORITY, ge=0, le=PRIORITY_MAX)
    mode: PolicyMode = PolicyMode.ENFORCE
    tests: str | None = Field(default=None, max_length=REGO_MAX_BYTES, description="A Rego module of its package.")
    cases: list[dict[str, Any]] = Field(default_factory=list, max_length=_CASES_MAX)

    @model_validator(mode="before")
    @classmethod
    def _names(cls, body: Any) -> Any:
        if isinstance(body, dict) and "content" in body and "rego_policy" not in body:
            return {("rego_policy" if name == "content" else name): value for name, value in body.items()}
        return body


class PoliciesToTest(BaseModel):
    """``cases`` are about all policies together. ``data`` and ``modules``: instead of the organization's own."""

    model_config = ConfigDict(extra="forbid")

    policies: list[PolicyUnderTest] = Field(min_length=1, max_length=_POLICIES_MAX)
    cases: list[dict[str, Any]] = Field(default_factory=list, max_length=_CASES_MAX)
    data: dict[str, Any] | None = None
    modules: dict[str, str] | None = Field(default=None, description="Text by path: time.windows is lib.time.windows.")


class TestResultAnswer(BaseModel):
    policy: str | None = Field(description="Null: a case for all policies together.")
    file: str
    name: str
    outcome: Literal["passed", "failed", "error", "skipped"]
    message: str | None
    time_ms: float


class PolicyCoverage(BaseModel):
    policy: str
    rules: int
    covered: int
    uncovered: list[str]


class CoverageAnswer(BaseModel):
    """Rules that held in a case, or that a passed test depends on."""

    percent: float
    policies: list[PolicyCoverage]


class TestReportAnswer(BaseModel):
    passed: bool
    counts: dict[str, int]
    results: list[TestResultAnswer]
    coverage: CoverageAnswer
