"""Who searches for a command runs none: ``kubectl delete namespace stuck terminating`` is a question.

Only plain words, in the field of a search that takes words, at a path or a tool that is named as a search of the web.
``search`` itself is no such field: at Splunk it holds a program, which can delete. Quotes, semicolons and statements of
SQL are no words: a search is where they are put in (CWE-89), and some are run by a search of that name.
"""

import re
from typing import Final

from headgate.detectors.model import Finding, text_at_path
from headgate.kernel.canonical_json import JsonObject, JsonValue

_FIELD: Final = re.compile(
    r"\$\.(?:http\.query|params|body(?:\.params\.arguments)?)\.(?:q|query|text|terms?|keywords?|search_query)(?:\[[0-9]+\])?"
)
_WORDS: Final = re.compile(r"[\w\s./:@#%+=,?!()-]*")
_STATEMENT: Final = re.compile(
    r"\b(?:drop|truncate|alter|create)\s+\w+\s+\w|\bgrant\s+\w+.{0,200}\bto\b|\bdelete\s+from\b|\bupdate\s+\S+\s+set\b",
    re.IGNORECASE | re.DOTALL,
)
_PATH: Final = re.compile(
    r"(?:^|[/_-])(?:web)?search(?:\.\w{1,8})?(?:/(?:advanced|code|commits|issues|repositories|similar|web))?/?",
    re.IGNORECASE,
)
_TOOL: Final = re.compile(
    r"(?:web|internet|google|bing|brave|duckduckgo|tavily|exa|kagi)[_-]?search|search[_-]?(?:web|internet)"
)
_METHODS: Final = frozenset(("GET", "POST"))


def not_searched_for(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings that are no words of the search that the call (``value``) is."""
    if not findings or not isinstance(value, dict) or not _is_search(value):
        return findings
    return tuple(one for one in findings if not _is_of_words(one, value))


def _is_of_words(finding: Finding, value: JsonValue) -> bool:
    if finding.span is None or _FIELD.fullmatch(finding.place.path) is None:
        return False
    whole = text_at_path(value, finding.span.path)
    return whole is not None and _WORDS.fullmatch(whole) is not None and _STATEMENT.search(whole) is None


def _is_search(call: JsonObject) -> bool:
    http, tool, operation = call.get("http"), str(call.get("tool", "")), str(call.get("operation", ""))
    if tool.startswith("mcp_"):
        return _TOOL.search(operation.lower()) is not None
    if not isinstance(http, dict) or http.get("method") not in _METHODS:
        return False
    path = str(http.get("path"))
    return any(found.end() == len(path) for found in _PATH.finditer(path))
