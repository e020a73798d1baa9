"""A policy that fails, or takes too long, denies, and says so; nobody else is held up by it."""

from typing import Any, Final

import pytest

from tests.e2e.clients import Agent, error_of

TRIES_MAX: Final = 10

# Whatever cannot be known before the call is there: the trial at creation cannot find it.
DIVIDES_BY_ZERO = """package e2e.divides

deny contains "a large share" if {
    startswith(input.http.path, "%(path)s")
    100 / (count(input.http.headers["x-parts"]) - 3) > 50
}
"""
NEVER_ENDS = """package e2e.endless

deny contains "found" if {
    startswith(input.http.path, "%(path)s")
    input.http.headers["x-parts"]
    some a in numbers.range(1, 3000)
    some b in numbers.range(1, 3000)
    some c in numbers.range(1, 3000)
    a + b + c < 0
}
"""


# A number that the engine itself cannot write into its message.
PANICS = """package e2e.panics

deny contains "a large number" if {
    startswith(input.http.path, "%(path)s")
    input.http.headers["x-parts"] == "large"
    trim_space(1e308 * 1e308)
}
"""


@pytest.mark.parametrize(
    ("rego", "parts", "says"),
    [
        (DIVIDES_BY_ZERO, "abc", "divide by zero"),
        (NEVER_ENDS, "abc", "exceeded its time limit"),
        (PANICS, "large", "the engine failed"),
    ],
    ids=["error", "time-out", "panic"],
)
def test_a_policy_that_fails_denies(instance, administrator, agent, upstream, path, rego, parts, says) -> None:
    proxies = instance.pids("proxy")
    with administrator.policy(rego % {"path": path}) as policy:
        error = _refusal_of(agent, upstream.url + path, parts)
        assert error["code"] == "ACTION_DENIED"
        assert error["details"]["policy_id"] == policy["id"]
        assert says in error["message"].lower()
        # Calls that it does not concern go on.
        assert agent.call("GET", upstream.url + "/elsewhere" + path).status_code == 200
    assert upstream.of(path) == []
    newest = administrator.actions_of(path)[-1]
    assert newest["decision"]["reason"] in error["message"]
    assert instance.pids("proxy") == proxies  # nobody died of it


def _refusal_of(agent: Agent, url: str, parts: str) -> dict[str, Any]:
    """The refusal of a call; asked again where the machine gave the policy no processor to show its own fault on."""
    for _ in range(TRIES_MAX):
        response = agent.call("GET", url, headers={"x-parts": parts})
        assert response.status_code == 403
        error = error_of(response)
        if "too busy" not in error["message"]:
            break
    return error
