"""Ordinary calls that look a little like data leaving: no model of the profile ``balanced`` stops one of them. Beside
them calls with which records of persons, sentences and programs leave: each is stopped for what it is.

``ordinary_calls.jsonl`` has searches in sentences, translations, places and maps, pictures with words in their address,
languages of queries, cookies of sessions, wallets and patients' records that are only read, names of hosts, messages,
bookings, orders, signatures, schemas of tables, searches by date. ``leaking_calls.jsonl`` has the others.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from headgate.gate.judged_content import judged_content
from headgate.nlp_policies.detector_round import DetectorRound
from headgate.nlp_policies.model import Direction, NlpPolicy, NlpResult, Outcome
from headgate.nlp_policies.templates import draft_of_template, templates
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_NOW = datetime(2026, 11, 28, tzinfo=UTC)
_POLICIES = [
    NlpPolicy("org_1", one.template_id, 1, draft_of_template(one), _NOW, _NOW)
    for one in templates()
    if "balanced" in one.profiles and one.scope.direction is Direction.REQUEST
]


def _listed(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()]


_CALLS = _listed("ordinary_calls.jsonl")
_LEAKING = _listed("leaking_calls.jsonl")


def _call(record: dict[str, Any]) -> HttpCall:
    """With a body: POST of JSON; else GET. ``query`` is what the URL has none of yet."""
    body = json.dumps(record["body"]).encode() if "body" in record else b""
    parts = urlsplit(record["url"])
    fields = {
        "host": parts.netloc,
        **record.get("headers", {}),
        **({"content-type": "application/json"} if body else {}),
    }
    query = parts.query or urlencode(record.get("query", {}), quote_via=quote)
    path = quote(parts.path or "/", safe="/%:;,@$!*'()+=|~-._")
    named = tuple((name.encode(), value.encode()) for name, value in fields.items())
    return HttpCall("POST" if body else "GET", "https", parts.netloc, 443, path, query, named, body)


def _results(record: dict[str, Any]) -> list[NlpResult]:
    asked = DetectorRound(_POLICIES, judged_content(interpret(_call(record), load_catalogues())))
    asked.ask_for(60)
    return [*asked.results.values()]


@pytest.mark.parametrize("record", _CALLS, ids=range(1, len(_CALLS) + 1))
def test_an_ordinary_call_passes(record: dict[str, Any]) -> None:
    results = _results(record)
    assert [(one.policy_id, one.reasoning) for one in results if one.outcome is not Outcome.CLEAR] == []
    assert len(results) == len(_POLICIES)


@pytest.mark.parametrize("record", _LEAKING, ids=[one["about"] for one in _LEAKING])
def test_a_call_that_leaks_is_stopped(record: dict[str, Any]) -> None:
    stopping = [one for one in _results(record) if one.outcome is Outcome.MATCH]
    assert sorted({kind for one in stopping for kind in one.issues}) == record["kinds"]
