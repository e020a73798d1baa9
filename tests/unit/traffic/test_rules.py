"""Which calls are captured."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.traffic.model import CaptureLevel
from headgate.traffic.rules import NO_CAPTURES, capture_rules_document, parse_capture_rules

OFF, HEADS, BODIES = CaptureLevel
CALL = {"agent_id": "agt_1", "tool": "github", "operation": "create_issue", "host": "api.github.com"}


def rules(*given: dict[str, object]) -> dict[str, object]:
    return {"rules": list(given)}


@pytest.mark.parametrize(
    ("given", "marks", "expected"),
    [
        ([], (), OFF),
        ([{"capture": "bodies"}], (), BODIES),
        ([{"agents": ["agt_2"], "capture": "bodies"}], (), OFF),
        ([{"agents": ["agt_1"], "tools": ["github"], "capture": "heads"}], (), HEADS),
        ([{"tools": ["slack"], "capture": "bodies"}, {"capture": "heads"}], (), HEADS),
        ([{"operations": ["create_issue"], "capture": "off"}, {"capture": "bodies"}], (), OFF),
        ([{"hosts": ["*.GitHub.com"], "capture": "bodies"}], (), BODIES),
        ([{"hosts": ["*.api.github.com"], "capture": "bodies"}], (), OFF),
        ([{"hosts": ["github.com"], "capture": "bodies"}], (), OFF),
        ([{"hosts": ["*.hub.com"], "capture": "bodies"}], (), OFF),
        # What a policy marks as sensitive is never captured, whatever the rules say.
        ([{"capture": "bodies"}], (OFF,), OFF),
        ([{"capture": "bodies"}], (BODIES, HEADS), HEADS),
        # Without a rule a policy's word decides; a rule that says off is kept to.
        ([], (BODIES,), BODIES),
        ([{"capture": "off"}], (BODIES,), OFF),
    ],
)
def test_the_first_rule_that_fits_and_the_least_that_anybody_wants(given, marks, expected) -> None:
    assert parse_capture_rules(rules(*given)).level(**CALL, marks=marks) is expected


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ([], ""),
        ({"rules": {}}, "rules"),
        ({"rule": []}, "rule"),
        ({"rules": [{}]}, "rules[0].capture"),
        ({"rules": [{"capture": "all"}]}, "rules[0].capture"),
        ({"rules": [{"capture": "off", "paths": []}]}, "rules[0].paths"),
        ({"rules": [{"capture": "off", "hosts": "a"}]}, "rules[0].hosts"),
        ({"rules": [{"capture": "off", "tools": [""]}]}, "rules[0].tools"),
        ({"rules": [{"capture": "off"}] * 101}, "rules"),
        ({"body_limit_bytes": 0}, "body_limit_bytes"),
        ({"body_limit_bytes": True}, "body_limit_bytes"),
        ({"body_limit_bytes": 1 << 30}, "body_limit_bytes"),
    ],
)
def test_what_is_no_rule_is_refused_and_named(document, named: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_capture_rules(document)
    assert refused.value.details["field"] == named


def test_what_is_stored_reads_the_same() -> None:
    given = parse_capture_rules(rules({"hosts": ["a.example"], "capture": "heads"}) | {"body_limit_bytes": 1000})
    assert parse_capture_rules(capture_rules_document(given)) == given
    assert parse_capture_rules({}) == NO_CAPTURES


@pytest.mark.parametrize("member", ["tools", "operations"])
@pytest.mark.parametrize("name", ["git\0hub", "GitHub", "a" * 65, "mcp *"])
def test_a_name_that_no_call_can_have_is_refused_where_it_is_set(member: str, name: str) -> None:
    stored = parse_capture_rules(rules({"capture": "heads"}, {member: ["github", name], "capture": "off"}))
    with pytest.raises(ValidationError, match="a name has lower-case letters") as refused:
        stored.require_call_names()
    assert refused.value.details["field"] == f"rules[1].{member}[1]"
    parse_capture_rules(rules({member: ["github", "a" * 64], "capture": "off"})).require_call_names()
