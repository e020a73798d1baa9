"""Requests made from the description of the interface, sensible and absurd, to every operation: every check that
Schemathesis has for a single request. schemathesis.toml says what it must not expect, and why.

The examples are the same at every run (derandomised); HEADGATE_CONTRACT_EXAMPLES changes their number.
"""

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("HEADGATE_CONTRACT_EXAMPLES", "4"))
# A stream of events ends when its reader goes; tests/integration/admin_api/approvals reads it.
ENDLESS = {("get", "/v1/approvals/events"), ("get", "/v1/actions/events"), ("get", "/admin/progress/events")}
OPERATIONS = [
    (method, path)
    for path, operations in json.loads(DOCUMENT.read_text("utf-8"))["paths"].items()
    for method in operations
    if (method, path) not in ENDLESS
]


@lru_cache
def _schema() -> Any:
    config = SchemathesisConfig.from_path(ROOT / "schemathesis.toml")
    return schemathesis.openapi.from_path(DOCUMENT, config=config)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One connection for all; each request is made without what came back for the others."""
    with requests.Session() as made:
        made.headers = {}
        made.trust_env = False
        made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        yield made


# The API runs in a thread of this process, and spreads what it does again by chance.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize("mode", [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_documented(
    method: str, path: str, mode: schemathesis.GenerationMode, api, session: requests.Session
) -> None:
    operation = _schema()[path][method.upper()]
    if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.body or list(operation.iter_parameters())):
        return  # there is nothing to get wrong
    needs_credential = bool(operation.definition.raw["security"])

    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    def answers(case: schemathesis.Case) -> None:
        if case.query and "wait" in case.query:
            case.query["wait"] = 0  # a long poll waits as it was asked to
        headers = api.credentials.headers(method, path) if needs_credential else {}
        answer = case.call(base_url=api.url, headers=headers, timeout=30, session=session)
        case.validate_response(answer, checks=CHECKS.get_all())

    try:
        answers()
    except hypothesis.errors.Unsatisfiable:
        # Whatever is sent there is right: a text of any form.
        assert mode is schemathesis.GenerationMode.NEGATIVE
