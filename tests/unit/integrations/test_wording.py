"""What tickets and messages say: from what a delivery carries, and nothing that others could hide in it."""

import pytest

from headgate.integrations.discord.api import _block as block
from headgate.integrations.jira.api import document_of, ticket_of
from headgate.integrations.linear.api import description_of, id_of, inert
from headgate.integrations.shown_text import code, cut
from headgate.integrations.wording import notice_of, request_of, shown_params

PAYLOAD = {
    "event": "approval.requested", "approval_id": "apr_1", "agent_name": "Robot", "tool": "mail", "operation": "send",
    "risk_level": "high", "reason": "a person must look", "digest": "sha256:ab", "params": {"to": "x\u202e"},
}  # fmt: skip


def test_a_request_shows_what_is_asked() -> None:
    request = request_of(dict(PAYLOAD), "https://gate.example/links/x")
    assert request.title == "Approval needed: mail.send (high risk)"
    assert "Why: a person must look" in request.text
    assert 'Parameters:\n{\n  "to": "x\\u{202e}"\n}' in request.text
    assert request.text.endswith('"x\\u{202e}"\n}')
    assert "Digest of the action: sha256:ab" in request.text
    assert "Open: https://gate.example/links/x" in request.text


def test_long_params_are_cut_and_say_so() -> None:
    shown = shown_params({"text": "a" * 10_000})
    assert len(shown) < 4100
    assert shown.endswith("(cut: Headgate shows all)")


@pytest.mark.parametrize(
    ("event", "outcome"),
    [("approval.approved", "approved"), ("approval.denied", "denied"), ("approval.expired", "expired"),
     ("approval.voted", None), ("approval.edited", None), ("approval.superseded", None)],
)  # fmt: skip
def test_a_notice_says_how_it_ended(event: str, outcome: str | None) -> None:
    assert notice_of({**PAYLOAD, "event": event}, "dlv_1").outcome == outcome


@pytest.mark.parametrize(
    ("event", "said"), [("approval.voted", "Vote: approve, 1 of 2 so far"), ("approval.denied", None)]
)
def test_votes_are_counted_while_more_are_needed(event: str, said: str | None) -> None:
    payload = {**PAYLOAD, "event": event, "vote": "approve", "current_approvals": 1, "required_approvals": 2}
    counted = [line for line in notice_of(payload, "dlv_1").text.splitlines() if "so far" in line]
    assert counted == ([] if said is None else [said])


@pytest.mark.parametrize("outcome", ["approved", "denied", None])
def test_what_was_decided_at_once(outcome: str | None) -> None:
    notice = notice_of({"event": "integration.answered", "outcome": outcome, "message": "by policy"}, "dlv_1")
    assert (notice.outcome, notice.text) == (outcome, "by policy")
    assert notice.title == {"approved": "Allowed", "denied": "Denied", None: "Waiting for approval"}[outcome]


def test_nobody_leaves_a_block_of_code() -> None:
    assert code("a ``` b ```` c").startswith("`````\n")
    assert block("a ``` b", 100).count("```") == 2


def test_markdown_is_inert() -> None:
    assert inert("[a](b) ![c](d) # e\n@f") == "\\[a\\](b) !\\[c\\](d) \\# e  \n@f  "


def test_a_ticket_links_to_headgate_and_to_nothing_that_an_agent_wrote() -> None:
    request = request_of({**PAYLOAD, "reason": "[a](https://evil.example)"}, "https://gate.example/links/a_b_c")
    assert description_of(request).splitlines()[-6:] == [
        "[Open in Headgate](https://gate.example/links/a_b_c)", "", "```json", "{", '  "to": "x\\u{202e}"', "}", "```",
    ][-6:]  # fmt: skip
    assert "](https://evil" not in description_of(request)
    links = [
        mark["attrs"]["href"]
        for part in ticket_of(request)["content"]
        for node in part["content"]
        for mark in node.get("marks", [])
    ]
    assert links == ["https://gate.example/links/a_b_c"]
    assert ticket_of(request)["content"][-1] == {
        "type": "codeBlock", "content": [{"type": "text", "text": '{\n  "to": "x\\u{202e}"\n}'}],
    }  # fmt: skip


def test_what_is_cut_says_so() -> None:
    assert cut("short", 10) == "short"
    assert cut("long " * 20, 60).endswith("… (cut: Headgate shows all)")
    assert len(cut("long " * 20, 60)) == 60


def test_documents_hold_no_empty_text() -> None:
    document = document_of("a\n\n\n\nb\n\nc\n")
    texts = [node for paragraph in document["content"] for node in paragraph["content"] if node["type"] == "text"]
    assert [one["text"] for one in texts] == ["a", "b", "c"]


def test_the_same_thing_has_the_same_identifier() -> None:
    assert id_of("apr_1") == id_of("apr_1") != id_of("apr_2")
    assert id_of("apr_1")[14] == "4"
    assert id_of("apr_1")[19] in "89ab"
