"""Model providers in the browser: a key goes in, and never comes out; the others keep theirs."""

import html

import pytest

from headgate.organizations.model import Role

_PATH = "/settings/models"
_API = "/admin/settings/nlp-providers"
_KEY = "sk-test-0123456789"


def _form(**changes: str) -> dict[str, str]:
    return {"act": "add", "provider": "one", "kind": "anthropic", "api_key": _KEY, "models": "a\nb"} | changes


async def test_a_provider_from_its_form_to_its_end(gate) -> None:
    person = gate.person()
    assert (await person.post(_PATH, data=_form())).status_code == 303
    assert (
        await person.post(_PATH, data=_form(provider="two", api_key="sk-other", input_price="1.5"))
    ).status_code == 303
    shown = (await person.get(_PATH)).text
    assert _KEY not in shown and "A key is stored" in shown
    kept = (await person.get(_API)).json()
    assert (kept["one"]["models"], kept["two"]["input_price"], kept["one"]["has_api_key"]) == (["a", "b"], 1.5, True)
    assert (await person.post(_PATH, data=_form(act="save", api_key="", models="c"))).status_code == 303
    kept = (await person.get(_API)).json()
    assert (kept["one"]["models"], kept["one"]["has_api_key"], kept["two"]["has_api_key"]) == (["c"], True, True)
    assert (await person.post(_PATH, data=_form(act="save", api_key="", forget_key="yes"))).status_code == 303
    assert (await person.get(_API)).json()["one"]["has_api_key"] is False
    assert (await person.post(_PATH, data={"act": "remove", "provider": "one"})).status_code == 303
    assert list((await person.get(_API)).json()) == ["two"]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"provider": "One!"}, 400, "lower case"),
        ({"kind": "none"}, 400, "one of"),
        ({"base_url": "ftp://x"}, 400, "base_url"),
        ({"input_price": "much"}, 400, "input_price"),
        ({"act": "save", "provider": "none"}, 404, "No provider none"),
        ({"act": "remove", "provider": "none"}, 404, "No provider none"),
        ({"act": "test", "provider": "none"}, 404, "none"),
        ({"act": "dance"}, 400, "Unknown action"),
    ],
)
async def test_what_is_refused_says_why_and_shows_no_key(gate, changes: dict[str, str], status: int, said: str) -> None:
    answer = await gate.person().post(_PATH, data=_form(**changes))
    assert (answer.status_code, said in html.unescape(answer.text), _KEY in answer.text) == (status, True, False)
    assert (await gate.person().get(_API)).json() == {}


async def test_an_old_page_undoes_nothing(gate) -> None:
    person = gate.person()
    assert (await person.post(_PATH, data=_form())).status_code == 303
    version = (await person.get(_API)).headers["etag"]
    assert (await person.post(_PATH, data=_form(provider="two", version=version))).status_code == 303
    late = await person.post(_PATH, data=_form(act="remove", version=version))
    assert late.status_code in {409, 412}
    assert list((await person.get(_API)).json()) == ["one", "two"]


async def test_a_key_is_not_sent_to_another_address(gate) -> None:
    person = gate.person()
    assert (await person.post(_PATH, data=_form())).status_code == 303
    moved = await person.post(_PATH, data=_form(act="save", api_key="", base_url="https://elsewhere.example"))
    assert (moved.status_code, "give the key again" in moved.text) == (400, True)


async def test_a_trial_that_fails_says_why(gate) -> None:
    person = gate.person()
    form = _form(kind="openai_compatible", base_url="https://model.invalid")
    assert (await person.post(_PATH, data=form)).status_code == 303
    tried = await person.post(_PATH, data={"act": "test", "provider": "one", "model": "a"})
    assert (tried.status_code, "</svg>Failed" in tried.text) == (200, True)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR, Role.APPROVER])
async def test_only_administrators(gate, role: Role) -> None:
    person = gate.person(role.value, role)
    assert (await person.get(_PATH)).status_code == 403
    assert (await person.post(_PATH, data=_form())).status_code == 403
