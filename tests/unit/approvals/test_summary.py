"""One plain sentence for each kind of action, and nothing in it that hides."""

from pathlib import Path

import pytest

from headgate.approvals.summary import for_a_channel, sent_call, summary
from headgate.approvals.visible_text import shown_object, shown_text
from headgate.kernel.canonical_json import JsonObject
from headgate.tools.describe import operation_descriptions
from headgate.tools.load import load_catalogues

_HTTP = {"method": "POST", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/mail", "query": {}}


def said(tool: str, operation: str, params=None, http=None, agent="Robot") -> str:
    return summary(
        agent=agent, tool=tool, operation=operation, params=params or {}, http=http,
        descriptions=operation_descriptions(load_catalogues()),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            said("github", "delete_repo", {"owner": "acme", "repo": "site"}),
            "Robot wants to delete a repository (github.delete_repo): owner acme, repo site.",
        ),
        (
            said("http", "post", {"path": "/mail"}, _HTTP | {"body_size": 12}),
            "Robot wants to send POST https://api.example.com/mail with a body of 12 bytes.",
        ),
        (
            said("http", "get", {}, _HTTP | {"method": "GET", "port": 8443, "query": {"a": ["1"]}}),
            "Robot wants to send GET https://api.example.com:8443/mail with a query.",
        ),
        (
            said("http", "post", {"body": {"to": "x", "n": 1.5, "lines": []}}, _HTTP | {"body_size": 12}),
            "Robot wants to send POST https://api.example.com/mail with a body of 12 bytes: to x, n 1.5, and 1 more.",
        ),
        (
            said(
                "http",
                "post",
                {"body": {"content_type": "image/png", "sha256": "sha256:" + "0123456789abcdef" * 4, "size": 9}},
                _HTTP | {"body_size": 9, "body_kind": "opaque"},
            ),
            "Robot wants to send POST https://api.example.com/mail with a body of 9 bytes: type image/png,"
            " SHA-256 0123456789ab….",
        ),
        (
            said("http", "get", {"query": {"to": ["acme"], "tag": ["a", "b"]}, "body": "text"}, _HTTP),
            "Robot wants to send POST https://api.example.com/mail: to acme, and 1 more.",
        ),
        (
            said("github", "unlisted_put", {"body": {"a": "x"}}, _HTTP),
            "Robot wants to send POST https://api.example.com/mail, which the catalogue of github does not list: a x.",
        ),
        (
            said("github", "unlisted_delete", {}, _HTTP | {"method": "DELETE"}),
            "Robot wants to send DELETE https://api.example.com/mail, which the catalogue of github does not list.",
        ),
        (
            said("mcp_files", "remove", {"name": "a", "options": {"x": 1}, "force": True, "after": None}),
            "Robot wants to call the tool remove of the MCP server files: name a, force true, and 2 more.",
        ),
        (said("calendar", "clear", {"all": [1]}), "Robot wants to do calendar.clear: 1 param."),
        (said("calendar", "clear"), "Robot wants to do calendar.clear."),
        (
            said("websocket", "send", {"message": "hi"}, http=_HTTP),
            "Robot wants to send a message over the WebSocket at https://api.example.com/mail.",
        ),
        (
            said("websocket", "send", {"message": {"op": "buy"}}, http=_HTTP),
            "Robot wants to send a message over the WebSocket at https://api.example.com/mail: op buy.",
        ),
        (
            said("websocket", "connect", {}, http=_HTTP),
            "Robot wants to open a WebSocket at https://api.example.com/mail.",
        ),
        (
            said("mail", "send", {"to": "x\n\u202ey\u200b"}, agent="R\u202eobot"),
            "R\\u{202e}obot wants to do mail.send: to x \\u{202e}y\\u{200b}.",
        ),
    ],
)
def test_a_sentence(sentence: str, expected: str) -> None:
    assert sentence == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (sent_call("http", "post", _HTTP), "POST https://api.example.com/mail"),
        (sent_call("http", "post", for_a_channel(_HTTP | {"query": {"a": ["1"]}})), "POST https://api.example.com"),
        (sent_call("http", "post", for_a_channel(None)), "http.post"),
        (sent_call("http", "post", _HTTP | {"port": 8443}), "POST https://api.example.com:8443/mail"),
        (sent_call("websocket", "send", _HTTP | {"method": "GET"}), "message https://api.example.com/mail"),
        (sent_call("websocket", "connect", _HTTP | {"method": "GET"}), "GET https://api.example.com/mail"),
        (sent_call("github", "delete_repo", _HTTP), "github.delete_repo"),
    ],
    ids=["sent", "to a channel", "submitted", "to a port", "message", "handshake", "of a catalogue"],
)
def test_a_call_in_few_words(call: str, expected: str) -> None:
    assert call == expected


def test_what_a_push_takes_away_is_not_behind_what_it_adds() -> None:
    added = [{"ref": f"refs/heads/{number}", "change": "create", "fast_forward": False} for number in range(9)]
    forced = {"ref": "refs/heads/side", "change": "update", "fast_forward": False}
    deleted = {"ref": "refs/heads/main", "change": "delete", "fast_forward": False}
    params: JsonObject = {
        "repository": "a.git",
        "host": "h",
        "updates": [*added, forced, deleted],
        "options": ["ci.skip"],
    }
    told = said("git", "push", params)
    assert (
        "a.git at h: delete refs/heads/main, update refs/heads/side (not proven to be a fast-forward), create" in told
    )
    assert told.endswith("and 5 more, with the push options ci.skip.")


def test_long_values_are_cut() -> None:
    assert len(said("mail", "send", {"text": "x" * 10_000})) < 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe 中文 👍", "größe 中文 👍"),
        ("two\nlines\t", "two\nlines\t"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u200db\ufe0f", "a\\u{200d}b\\u{fe0f}"),
        ("\x1b[2J\r", "\\u{1b}[2J\\u{d}"),
        ("\U000e0041", "\\u{e0041}"),
        ("\u3164", "\\u{3164}"),
    ],
)
def test_what_hides_is_written_out(text: str, shown: str) -> None:
    assert shown_text(text) == shown


def test_where_it_was_is_said() -> None:
    hidden: list[str] = []
    shown = shown_object({"a/b": ["x", "y\u200b"], "n\u202e": {"~": "\u2066"}, "n\\u{202e}": 1}, hidden)
    assert shown == {"a/b": ["x", "y\\u{200b}"], "n\\u{202e}": {"~": "\\u{2066}"}, "n\\u{202e} (another)": 1}
    assert hidden == ["/a~1b/1", "/n\\u{202e}", "/n\\u{202e}/~0"]


def test_the_operators_own_catalogue_has_its_say(tmp_path: Path) -> None:
    (tmp_path / "till.yaml").write_text(
        "tool: till\ndescription: The till\nhosts: [till.example.com]\nentries:\n- operation: sell\n  method: POST\n"
        "  path: /sales\n  effect: write\n  description: Sell something\n"
    )
    descriptions = operation_descriptions(load_catalogues(tmp_path))
    assert descriptions["till", "sell"] == "Sell something"
    assert descriptions["github", "delete_repo"] == "Delete a repository"
