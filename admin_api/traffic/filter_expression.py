"""mitmproxy's filter language, with RE2 in place of Python's regular expressions.

Python's backtrack: ``~bq "(a+)+$"`` over forty characters takes longer than a person lives, and holds the one review
process. RE2 (R. Cox, "Regular Expression Matching in the Wild", 2010) takes time linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyparsing
import re2
from mitmproxy import flowfilter

# Without it mitmproxy's grammar tries each parenthesis again for all around it: seven of them take a minute.
pyparsing.ParserElement.enable_packrat(cache_size_limit=None)


def parse_filter(expression: str) -> flowfilter.TFilter:
    """Raises ValueError: it is no filter expression, or one of its patterns is not one of RE2's."""
    parsed = flowfilter.parse(expression)
    for leaf in _patterns_of(parsed):
        leaf.re = _linear(leaf)
    return parsed


def _patterns_of(part: Any) -> Iterator[Any]:
    if isinstance(part, flowfilter.FAnd | flowfilter.FOr):
        for one in part.lst:
            yield from _patterns_of(one)
    elif isinstance(part, flowfilter.FNot):
        yield from _patterns_of(part.itm)
    elif isinstance(part, flowfilter._Rex):
        yield part


def _linear(leaf: Any) -> Any:
    """The same pattern with the same flags: bodies and heads are bytes, addresses and comments are text."""
    pattern, flags = leaf.re.pattern, leaf.re.flags
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not flags & re.IGNORECASE
    options.dot_nl = bool(flags & re.DOTALL)
    many_lines = bool(flags & re.MULTILINE)
    if isinstance(pattern, bytes):
        options.encoding = re2.Options.Encoding.LATIN1
        pattern = b"(?m)" + pattern if many_lines else pattern
    elif many_lines:
        pattern = "(?m)" + pattern
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise ValueError(
            f"the pattern {leaf.expr!r} is not one of RE2's ({said}). Write it without look-around, back references,"
            " possessive repetitions and counts above 1000: '~bq pay & !~bq test' in place of '~bq \"pay(?!.*test)\"',"
            " $ in place of \\Z"
        ) from error
