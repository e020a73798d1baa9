"""One policy on one call, in the child that tries policies."""

from headgate.policies.simulate import simulate
from headgate.policies.trial_child import sample_inputs

_READ = sample_inputs()["an intercepted read"]


async def test_a_policy_that_says_nothing_names_the_member_that_no_call_has() -> None:
    text = 'package p\n\ndeny if input.htp.host == "api.example.com"\n'
    found = await simulate(text, b"{}", (), _READ, trace=False)
    assert found.raw.answer == b"{}"
    (warning,) = found.warnings
    assert warning.startswith("policy.rego:3:9: input.htp does not exist (did you mean input.http.host?)")
    right = await simulate(text.replace("htp", "http"), b"{}", (), _READ, trace=False)
    assert (right.raw.error, right.warnings) == (None, ())
