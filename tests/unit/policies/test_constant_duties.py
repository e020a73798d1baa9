"""Which duties a policy keeps apart for every call, as far as its text says so."""

import pytest

from headgate.policies.constant_duties import constant_duties
from headgate.policies.terms import Duty

BOTH = tuple(Duty)


@pytest.mark.parametrize(
    ("rules", "duties"),
    [
        ('approval := {"separation_of_duties": true}', BOTH),
        ('approval := {"separation_of_duties": ["policy_author"], "assignees": data.people}', (Duty.POLICY_AUTHOR,)),
        ('approval := {"separation_of_duties": {"agent_owner"}}', (Duty.AGENT_OWNER,)),
        ('approval := {"separation_of_duties": false}', ()),
        ('approval := {"required_approvals": 2}', ()),
        ('approval := {"separation_of_duties": ["nobody"]}', ()),
        # What a call decides is not known before it.
        ('approval := {"separation_of_duties": true} if input.params.amount > 10', ()),
        ('default approval := {"separation_of_duties": true}', ()),
        ('approval := {"separation_of_duties": data.duties}', ()),
        ("approval := data.terms", ()),
        ('approval["separation_of_duties"] := true', ()),
        ('terms := {"separation_of_duties": true}', ()),
        ("deny", ()),
        ("no rego at all", ()),
    ],
)
def test_duties_of_every_call(rules: str, duties: tuple[Duty, ...]) -> None:
    assert constant_duties(f"package gate\n\n{rules}\n") == duties
