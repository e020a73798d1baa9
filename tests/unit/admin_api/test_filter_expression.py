"""mitmproxy's filter language with RE2: it finds what mitmproxy finds, in time that grows with the text only."""

import time

import pytest
from mitmproxy import flowfilter
from mitmproxy.http import HTTPFlow
from mitmproxy.test import tflow

from admin_api.traffic.filter_expression import parse_filter

HOSTILE = ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){12}b", "a?" * 40 + "a" * 40 + "b"]


def _flow(body: str = "an order of Shoes\nin red", path: str = "/orders/7?size=42") -> HTTPFlow:
    flow = tflow.tflow(resp=True)
    flow.request.method, flow.request.path = "POST", path
    flow.request.headers["X-Trace"] = "abc-1"
    flow.request.set_content(body.encode())
    flow.comment = "agt_1 allow"
    return flow


@pytest.mark.parametrize(
    "expression",
    [
        "~m POST",
        "~m post & ~bq shoes",
        "!~u orders | ~c 200",
        '~bq "order.*red"',
        '~bq "^in"',
        '~bq "red$"',
        '~hq "^x-trace: abc-\\d+"',
        '~u "orders/[0-9]+\\?"',
        '~comment "^AGT_1"',
        "~bq ordér",
        "~a",
        "orders",
        "(~q | (~s & ~t text))",
        "~bq \"\\bShoes\\b\" & ~bs '(mes|sage)+'",
    ],
)
def test_it_finds_what_mitmproxy_finds(expression: str) -> None:
    for flow in (_flow(), _flow(body="in red", path="/")):
        assert parse_filter(expression)(flow) == flowfilter.parse(expression)(flow)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_pattern_that_backtracks_elsewhere_takes_no_time(pattern: str) -> None:
    flow = _flow(body="a" * 50_000 + "!")
    began = time.process_time()
    assert not parse_filter(f'~bq "{pattern}"')(flow)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("pattern", ["a(?=b)", "a(?!b)", "(?<=a)b", r"(a)\\1", "(?>a+)b", "a++b", r"a\\Z", "a{1001}"])
def test_what_re2_does_not_know_is_refused_with_what_to_write(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"is not one of RE2's .* Write it without look-around"):
        parse_filter(f'~m GET | !~bq "{pattern}"')


def test_parentheses_within_one_another_take_no_time() -> None:
    began = time.process_time()
    assert parse_filter("(" * 8 + "~m POST" + ")" * 8)(_flow())
    assert time.process_time() - began < 1.0
