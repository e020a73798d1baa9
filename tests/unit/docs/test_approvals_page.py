"""The guide to approvals names what there is, and its example does what it says."""

import json
import re
from pathlib import Path
from typing import Final

from admin_api.access import ACCESS
from headgate.approvals.history import HistoryVerb
from headgate.policies.compile import compile_policy
from headgate.policies.lint import lint
from headgate.policies.terms import APPROVALS_MAX, EXPIRY_MAX_SECONDS, Duty, RoleSlot, parse_terms

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGE: Final = (DOCS / "guides" / "approvals.md").read_text("utf-8")
REFERENCE: Final = (DOCS / "reference" / "policies.md").read_text("utf-8")
[EXAMPLE] = re.findall(r"```rego\n(.*?)```", PAGE, re.DOTALL)
MEMBERS: Final = (
    "required_approvals", "denials_required", "assignees", "roles", "separation_of_duties", "escalate_after_seconds",
    "escalate_to", "remind_after_seconds", "expires_in_seconds", "hold_seconds",
)  # fmt: skip


def test_every_member_has_its_line_in_both_tables() -> None:
    for member in MEMBERS:
        for page in (PAGE, REFERENCE):
            assert f"\n| `{member}` |" in page
    assert f"1 to {APPROVALS_MAX}" in PAGE and f"{EXPIRY_MAX_SECONDS:,}" in PAGE
    for duty in Duty:
        assert f"`{duty}`" in PAGE


def test_the_example_has_all_of_them_and_is_no_mistake() -> None:
    compiled = compile_policy(EXAMPLE, b"{}")
    assert lint(compiled.engine.ast(), EXAMPLE, compiled.conditions, compiled.data.roots) == ()
    written = re.search(r"approval := (\{.*\})", EXAMPLE, re.DOTALL)
    assert written is not None
    document = json.loads(re.sub(r",\s*\}", "}", re.sub(r"#.*", "", written[1])))
    assert set(document) == set(MEMBERS)
    terms = parse_terms(document)
    assert (terms.required_approvals, terms.roles) == (3, (RoleSlot("payments"), RoleSlot("security")))


def test_steps_and_routes_are_named() -> None:
    for verb in HistoryVerb:
        assert f"`{verb}`" in PAGE
    for _, path in ACCESS:
        if path.startswith(("/v1/absences", "/admin/approver-groups", "/admin/users/{}/deactivate")):
            assert any(path.replace("{}", name) in PAGE for name in ("{id}", "{name}")), path
