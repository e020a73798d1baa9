"""Content policies in the browser: from a template, tried, changed, and refused from an old page."""

import html
import re

import pytest

from headgate.organizations.model import Role

_PATH = "/policies/content"


def _form(**changes: str) -> dict[str, str]:
    return {
        "act": "save", "name": "Secrets", "type": "pii_detection", "provider": "embedded", "model": "secrets",
        "threshold": "0.5", "on_match": "deny", "on_error": "require_approval", "on_unscannable": "",
        "direction": "both", "daily_limit": "100", "enabled": "on", "tools": "mail, chat",
    } | changes  # fmt: skip


async def _saved(gate) -> str:
    done = await gate.person().post(f"{_PATH}/new", data=_form())
    assert done.status_code == 303, html.unescape(done.text)
    return str(done.headers["location"])


async def test_a_content_policy_from_its_form_to_its_end(gate) -> None:
    person, path = gate.person(), await _saved(gate)
    kept = (await person.get(path.replace(_PATH, "/admin/nlp-policies"))).json()
    assert (kept["threshold"], kept["on_match"], kept["scope"]["tools"], kept["scope"]["direction"]) == (
        0.5, "deny", ["mail", "chat"], "both",
    )  # fmt: skip
    assert path in (await person.get(_PATH)).text
    changed = _form(version="1", tools="", description="<b>x</b>", on_unscannable="allow")
    changed.pop("enabled")
    assert (await person.post(path, data=changed)).status_code == 303
    kept = (await person.get(path.replace(_PATH, "/admin/nlp-policies"))).json()
    assert (kept["version"], kept["enabled"], kept["scope"]["tools"], kept["on_unscannable"]) == (2, False, [], "allow")
    assert "&lt;b&gt;x" in (await person.get(_PATH)).text
    emptied = _form(version="2", description="", on_unscannable="")
    assert (await person.post(path, data=emptied)).status_code == 303
    kept = (await person.get(path.replace(_PATH, "/admin/nlp-policies"))).json()
    assert (kept["description"], kept["on_unscannable"]) == (None, None)
    gone = await person.post(path, data={"act": "delete", "version": "3"})
    assert (gone.status_code, gone.headers["location"]) == (303, _PATH)
    assert (await person.get(path)).status_code == 404


@pytest.mark.parametrize("act", ["save", "delete"])
async def test_an_old_page_changes_nothing(gate, act: str) -> None:
    path = await _saved(gate)
    assert (await gate.person().post(path, data=_form(version="1", name="New"))).status_code == 303
    late = await gate.person().post(path, data=_form(act=act, version="1", name="Old"))
    assert late.status_code == 409
    assert (await gate.person().get(path.replace(_PATH, "/admin/nlp-policies"))).json()["name"] == "New"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threshold": "high"}, "threshold"),
        ({"threshold": "2"}, "threshold"),
        ({"threshold": "nan"}, "threshold"),
        ({"daily_limit": "0"}, "daily_limit"),
        ({"type": "none"}, "type"),
        ({"name": ""}, "name"),
        ({"model": "unknown"}, "model"),
    ],
)
async def test_what_is_wrong_is_named_and_what_was_typed_stays(gate, changes: dict[str, str], said: str) -> None:
    for path in (f"{_PATH}/new", await _saved(gate)):
        typed = _form(version="1", prompt="\n<i>as typed</i>") | changes
        answer = await gate.person().post(path, data=typed)
        assert (answer.status_code, said in re.findall(r'role="alert".*?</p>', answer.text, re.S)[0]) == (400, True)
        assert "&lt;i&gt;as typed" in answer.text


async def test_a_text_is_tried_and_its_secret_is_masked(gate) -> None:
    path = await _saved(gate)
    secret = "ghp_" + "a8F3kL9mQ2xZ7vB4nC6dR1sT5wY0uE2iO3p"[:36]
    matched = await gate.person("vi", Role.VIEWER).post(
        path, data={"act": "try", "content": "card 4111 1111 1111 1111"}
    )
    assert matched.status_code == 200
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html.unescape(matched.text)))
    assert "It does not match" in shown
    key = await gate.person().post(
        path, data={"act": "try", "content": f'{{"token": "AKIAIOSFODNN7EXAMPLQ {secret}"}}'}
    )
    results = re.findall(r'<div class="tried".*?</form>', key.text, re.S)[0]
    assert "It matches" in results
    assert secret not in results.partition("<form")[0]


async def test_a_failed_trial_says_why(gate) -> None:
    made = await gate.person().post(
        f"{_PATH}/new", data=_form(type="custom", provider="anthropic", model="claude", prompt="No.")
    )
    tried = await gate.person().post(made.headers["location"], data={"act": "try", "content": "x"})
    assert (tried.status_code, "The evaluation failed" in tried.text) == (200, True)


async def test_every_template_opens(gate) -> None:
    templates = (await gate.person().get("/admin/nlp-policies/templates")).json()["data"]
    for one in templates:
        page = await gate.person().get(f"{_PATH}/new?template={one['id']}")
        assert (page.status_code, html.escape(one["name"]) in page.text) == (200, True)
    assert (await gate.person().get(f"{_PATH}/new?template=none")).status_code == 404


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR, Role.APPROVER])
async def test_role_by_role(gate, role: Role) -> None:
    path, person = await _saved(gate), gate.person(role.value, role)
    assert [(await person.get(one)).status_code for one in (_PATH, path, f"{_PATH}/new")] == [200, 200, 403]
    for act in ("save", "delete"):
        assert (await person.post(path, data=_form(act=act, version="1"))).status_code == 403
    assert (await person.post(f"{_PATH}/new", data=_form())).status_code == 403


async def test_another_organizations_policy_is_not_there(gate, new_gate) -> None:
    path, other = await _saved(gate), (await new_gate()).person()
    assert (await other.get(path)).status_code == 404
    for act in ("save", "try", "delete"):
        assert (await other.post(path, data=_form(act=act, version="1", content="x"))).status_code == 404


async def test_the_list_says_what_each_held_and_denied(gate) -> None:
    person = gate.person()
    assert (await person.post(f"{_PATH}/new", data=_form(tools="", on_match="deny"))).status_code == 303
    key = "AKIA" + "Q3EGXZ7TNWB5YLPM"
    body = {"tool": "write", "operation": "line", "params": {"text": f"aws_access_key_id = {key}"}}
    called = (await gate.as_agent.post("/v1/actions", json=body)).json()
    assert called["status"] == "denied", called
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", (await person.get(_PATH)).text))
    assert re.search(r"Secrets .* Deny 0 1 ", shown), shown
