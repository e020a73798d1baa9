"""Where a new rule about captures goes."""

from typing import Any

from headgate.cli.captures import with_rule


def _rule(capture: str, **lists: list[str]) -> dict[str, Any]:
    return {"agents": [], "tools": [], "operations": [], "hosts": [], **lists, "capture": capture}


ALL, PAYROLL = _rule("heads"), _rule("off", tools=["payroll"])


def test_one_about_some_calls_goes_before_the_others() -> None:
    mail = _rule("bodies", tools=["mail"])
    assert with_rule([PAYROLL, ALL], mail) == [mail, PAYROLL, ALL]


def test_one_about_all_calls_goes_behind_them() -> None:
    assert with_rule([], ALL) == [ALL]
    assert with_rule([PAYROLL], ALL) == [PAYROLL, ALL]


def test_one_about_the_same_calls_is_replaced() -> None:
    everything = _rule("bodies")
    assert with_rule([PAYROLL, ALL], everything) == [PAYROLL, everything]
    both, turned = _rule("off", tools=["a", "b"]), _rule("heads", tools=["b", "a"])
    assert with_rule([both, ALL], turned) == [turned, ALL]
