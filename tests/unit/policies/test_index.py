"""The index asks whom the conditions leave, in order, and stays small."""

from headgate.policies.formula import TRUE, CallKey, Field, Formula, OneOf
from headgate.policies.index import PolicyIndex

SLACK: Formula = OneOf(Field.TOOL, frozenset({"slack"}))


def test_entries_are_asked_in_order_and_empty_groups_are_left_out() -> None:
    conditions = {"everybody": TRUE, "slack": SLACK, "also slack": SLACK}
    index = PolicyIndex([["slack"], ["everybody", "also slack"]], conditions.__getitem__)
    assert index.candidates(CallKey("slack", "x", None, None)) == (("slack",), ("everybody", "also slack"))
    assert index.candidates(CallKey("github", "x", None, None)) == (("everybody",),)


def test_an_agent_that_invents_hosts_does_not_fill_the_memory() -> None:
    asked: list[CallKey] = []

    class Counting:
        def holds(self, call: CallKey) -> bool:
            asked.append(call)
            return True

    index = PolicyIndex([["one"]], lambda _: Counting())  # type: ignore[arg-type, return-value]  # a formula that counts
    for number in range(10_000):
        index.candidates(CallKey("http", "get", f"h{number}.example.com", "GET"))
    assert len(index._remembered) <= 4_096
    before = len(asked)
    index.candidates(CallKey("http", "get", "h9999.example.com", "GET"))
    assert len(asked) == before
