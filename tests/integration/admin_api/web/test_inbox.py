"""The inbox and one approval request: what is shown to whom, and what its forms do."""

import html
import re
from datetime import timedelta

import psycopg
import pytest

from admin_api.web import inbox
from headgate.kernel.clock import system_clock
from headgate.kernel.ids import IdPrefix, new_id
from headgate.organizations.model import Role

_BY_RISK = """package gate

require_approval if input.tool == "write"

risk_level := input.params.text
"""
_HOSTILE = "</pre><script>alert(1)</script>\u202etxt.exe\u200b"


async def _held(gate, **params: object) -> str:
    body = {"tool": "write", "operation": "line", "params": params, "context": {"reason": _HOSTILE}}
    return str((await gate.as_agent.post("/v1/actions", json=body)).json()["approval_id"])


async def _page(gate, path: str, *, status: int = 200, roles: tuple[Role, ...] = (Role.ADMIN,)) -> str:
    answer = await gate.person("ada", *roles).get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
    return html.unescape(answer.text)


async def test_the_list_has_the_open_requests_and_one_beside(gate) -> None:
    ids = [await _held(gate, text=text) for text in ("one", "two")]
    shown = await _page(gate, "/inbox")
    assert re.findall(r'data-row="(apr_[^"]+)"', shown) == ids[::-1]
    assert f'action="/inbox/{ids[1]}"' in shown
    assert "<title>(2) Inbox · Headgate</title>" in shown
    assert ids[0] not in (await _page(gate, "/inbox?tool=other"))


@pytest.mark.parametrize(
    ("query", "status"), [("view=none", 404), ("risk=huge", 404), ("cursor=x", 404), ("unknown=1", 400)]
)
async def test_a_list_that_cannot_be_asked_for_is_refused_on_a_page(gate, query: str, status: int) -> None:
    assert "Headgate cannot show this page" in await _page(gate, f"/inbox?{query}", status=status)


async def test_nothing_is_cut_and_what_is_hidden_is_a_box(gate) -> None:
    long = "x" * 20_000
    answer = await gate.person().get(f"/inbox/{await _held(gate, text=_HOSTILE, long=long)}")
    assert long in answer.text
    assert "<script>alert" not in answer.text
    assert answer.text.count('title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>') >= 3  # sentence, params, what it says
    assert "\u202e" not in answer.text
    assert "\u200b" not in answer.text


async def test_what_an_mcp_call_has_beside_its_arguments_is_shown(gate) -> None:
    told = {
        "method": "tools/call",
        "name": "line",
        "params": {"inputResponses": {"sure": {"action": "accepted-by-me"}}},
    }
    body = {"tool": "write", "operation": "line", "params": {"text": "one"}, "context": {"mcp": told}}
    held = (await gate.as_agent.post("/v1/actions", json=body)).json()
    for path in (f"/inbox/{held['approval_id']}", f"/calls/{held['id']}"):
        request = (await _page(gate, path)).partition('id="h-request"')[2].partition("</section>")[0]
        shown = request.partition("Agent's statement")[0]
        assert "Beside the arguments" in shown
        assert "accepted-by-me" in shown


async def test_approve_then_the_page_speaks_of_it_as_past(gate) -> None:
    approval_id = await _held(gate, text="one")
    done = await gate.person().post(f"/inbox/{approval_id}", data={"decision": "approve", "reason": "fine"})
    assert (done.status_code, done.headers["location"]) == (303, f"/inbox/{approval_id}")
    shown = await _page(gate, f"/inbox/{approval_id}")
    assert "was allowed to" in shown
    assert "“fine”" in shown
    assert 'value="approve"' not in shown
    assert approval_id in await _page(gate, "/inbox?view=decided")


async def test_a_refused_form_says_why_keeps_what_was_typed_and_changes_nothing(gate) -> None:
    approval_id = await _held(gate, text="one")
    person = gate.person()
    refused = [
        ({"decision": "deny"}, 400, "reason"),
        ({"decision": "shrug", "reason": "mine"}, 400, "Use a form button"),
        (
            {"decision": "edit", "params": "{", "reason": "mine"},
            400,
            "The edited params are invalid or ambiguous JSON: ",
        ),
        ({"decision": "grant", "max_uses": "0", "expires_in_seconds": "60", "reason": "mine"}, 400, "equal to 1"),
        ({"decision": "approve", "digest": "sha256:" + "0" * 64}, 409, ""),
    ]
    for form, status, words in refused:
        answer = await person.post(f"/inbox/{approval_id}", data=form)
        assert answer.status_code == status, (form, answer.text)
        assert words in html.unescape(answer.text)
        assert ('value="mine"' in answer.text) == ("reason" in form)
    assert (await person.get(f"/v1/approvals/{approval_id}")).json()["status"] == "pending"


async def test_a_decision_leads_back_to_the_filtered_list(gate) -> None:
    first, second, third = [await _held(gate, text=text) for text in ("one", "two", "three")]
    query = "?tool=write&sort=oldest"
    shown = await _page(gate, f"/inbox/{first}{query}")
    assert f'action="/inbox/{first}{query}"' in shown
    assert f'action="/inbox{query}"' in shown
    done = await gate.person().post(f"/inbox/{first}{query}", data={"decision": "approve"})
    assert (done.status_code, done.headers["location"]) == (303, f"/inbox/{first}{query}")
    done = await gate.person().post(
        f"/inbox{query}", data={"decision": "approve", "selected": await _shown(gate, second)}
    )
    assert (done.status_code, done.headers["location"]) == (303, f"/inbox{query}")
    refused = await gate.person().post(f"/inbox/{third}?tool=wipe", data={"decision": "deny"})
    assert refused.status_code == 400
    assert 'value="wipe"' in refused.text
    assert (await gate.person().post(f"/inbox/{third}?status=open", data={"decision": "approve"})).status_code == 400


async def test_a_chosen_reason_is_enough_to_deny(gate) -> None:
    chosen, both = await _held(gate, text="one"), await _held(gate, text="two")
    [reason, *_] = re.findall(r'name="chosen" value="([^"]+)"', await _page(gate, f"/inbox/{chosen}"))
    form = {"decision": "deny", "chosen": reason}
    assert (await gate.person().post(f"/inbox/{chosen}", data=form)).status_code == 303
    assert (await gate.person().post(f"/inbox/{both}", data={**form, "reason": "Use Globex."})).status_code == 303
    found = [(await gate.person().get(f"/v1/approvals/{one}")).json()["comment"] for one in (chosen, both)]
    assert found == [reason, f"{reason} Use Globex."]


async def test_an_edit_is_compared_before_it_is_approved(gate) -> None:
    approval_id = await _held(gate, text="one")

    async def compared(params: str) -> str:
        answer = await gate.person().post(f"/inbox/{approval_id}", data={"decision": "compare", "params": params})
        assert answer.status_code == 200
        return re.sub(r"<[^>]+>", "", html.unescape(answer.text))

    changed = await compared('{"text": "two"}')
    assert '-  "text": "one"' in changed
    assert '+  "text": "two"' in changed
    assert "Nothing is changed" in await compared('{"text": "one"}')
    refused = await gate.person().post(f"/inbox/{approval_id}", data={"decision": "compare", "params": "{"})
    assert (refused.status_code, "invalid or ambiguous JSON" in refused.text) == (400, True)
    assert (await gate.person().get(f"/v1/approvals/{approval_id}")).json()["edit"] is None


async def test_a_grant_ends_at_a_time_that_is_entered(gate) -> None:
    approval_id = await _held(gate, text="one")
    form = {"decision": "grant", "which": "exact", "max_uses": "10", "reason": "tonight", "expires_in_seconds": "3600"}
    tonight = (system_clock() + timedelta(hours=5)).replace(second=0, microsecond=0, tzinfo=None)
    wrong = await gate.person().post(f"/inbox/{approval_id}", data={**form, "ends_at": "tonight"})
    assert (wrong.status_code, "expected a date and time" in wrong.text) == (400, True)
    done = await gate.person().post(f"/inbox/{approval_id}", data={**form, "ends_at": tonight.isoformat()[:16]})
    assert done.status_code == 303, done.text
    [grant] = (await gate.person().get("/admin/grants")).json()["data"]
    assert grant["expires_at"].startswith(tonight.isoformat())


async def test_edit_and_approve_shows_the_difference(gate) -> None:
    approval_id = await _held(gate, text="one")
    done = await gate.person().post(f"/inbox/{approval_id}", data={"decision": "edit", "params": '{"text": "two"}'})
    assert done.status_code == 303, done.text
    shown = re.sub(r"<[^>]+>", "", await _page(gate, f"/inbox/{approval_id}"))
    assert '-  "text": "one"' in shown
    assert '+  "text": "two"' in shown


async def test_what_is_decided_is_listed_behind_any_number_of_open_requests(gate, monkeypatch) -> None:
    monkeypatch.setattr(inbox, "_AT_ONCE", 2)
    decided = []
    for decision in ("approve", "deny", "approve"):
        decided.append(await _held(gate, text=f"{decision} {len(decided)}"))
        form = {"decision": decision, "reason": "so"}
        assert (await gate.person().post(f"/inbox/{decided[-1]}", data=form)).status_code == 303
    for number in range(3):
        await _held(gate, text=f"open {number}")
    first = await _page(gate, "/inbox?view=decided")
    assert re.findall(r'data-row="(apr_[^"]+)"', first) == decided[:0:-1]
    (older,) = re.findall(r'href="(/inbox\?view=decided&cursor=[^"]+)"', first)
    last = await _page(gate, older)
    assert re.findall(r'data-row="(apr_[^"]+)"', last) == decided[:1]
    assert "More requests" not in last


async def test_who_waits_now_comes_first_however_many_are_newer(gate, cluster, monkeypatch) -> None:
    monkeypatch.setattr(inbox, "_AT_ONCE", 2)
    ids = [await _held(gate, text=str(number)) for number in range(5)]
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as superuser:
        for approval_id, seconds in ((ids[0], 60), (ids[1], 30), (ids[2], -1)):
            superuser.execute(
                "UPDATE approvals SET held_until = now() + make_interval(secs => %s) WHERE approval_id = %s",
                [seconds, approval_id],
            )
    first = await _page(gate, "/inbox")
    assert re.findall(r'data-row="(apr_[^"]+)"', first) == [ids[1], ids[0], ids[4], ids[3]]
    assert "Agent is waiting" in first
    (more,) = re.findall(r'href="(/inbox\?cursor=[^"]+)"', first)
    assert re.findall(r'data-row="(apr_[^"]+)"', await _page(gate, more))[0] == ids[2]


async def test_the_order_is_the_viewers(new_gate, monkeypatch) -> None:
    monkeypatch.setattr(inbox, "_AT_ONCE", 2)
    gate = await new_gate(_BY_RISK)
    ids = {risk: await _held(gate, text=risk) for risk in ("low", "critical", "medium", "high")}

    async def order(path: str) -> list[str]:
        found: list[str] = []
        while path:
            shown = await _page(gate, path)
            found += re.findall(r'data-row="(apr_[^"]+)"', shown)
            path = next(iter(re.findall(r'href="(/inbox\?[^"]*cursor=[^"]+)"', shown)), "")
        return [next(risk for risk, one in ids.items() if one == approval_id) for approval_id in found]

    assert await order("/inbox") == ["high", "medium", "critical", "low"]
    assert await order("/inbox?sort=oldest") == ["low", "critical", "medium", "high"]
    assert await order("/inbox?sort=risk") == ["critical", "high", "medium", "low"]
    assert await order("/inbox?sort=risk&risk=high") == ["high"]
    for refused in ("sort=oldest", "held=true", "sort=oldest&status=denied"):
        answer = await gate.person().get(f"/v1/approvals?{refused}")
        assert (answer.status_code, "status=pending" in answer.text) == (400, True)


async def _shown(gate, *approval_ids: str) -> list[str]:
    """What the page sends of requests that are selected."""
    found = [(await gate.person().get(f"/v1/approvals/{one}")).json() for one in approval_ids]
    return [f"{one['id']} {one['digest']}" for one in found]


async def test_several_at_once(gate) -> None:
    first, second, done = [await _held(gate, text=text) for text in ("one", "two", "three")]
    await gate.person().post(f"/inbox/{done}", data={"decision": "deny", "reason": "no"})
    selected = await _shown(gate, first, second)
    assert set(re.findall(r'name="selected" value="([^"]*)"', await _page(gate, "/inbox"))) == set(selected)
    answer = await gate.person().post("/inbox", data={"decision": "approve", "selected": selected})
    assert (answer.status_code, answer.headers.get("location")) == (303, "/inbox")
    answer = await gate.person().post("/inbox", data={"decision": "approve", "selected": await _shown(gate, done)})
    assert answer.status_code == 409
    assert "0 requests decided, 1 failed" in answer.text
    for selected in ([], [first], [f"{first} sha256:x"]):
        nothing_seen = await gate.person().post("/inbox", data={"decision": "approve", "selected": selected})
        assert nothing_seen.status_code == 400


@pytest.mark.parametrize(
    ("role", "sees", "decides"),
    [
        (Role.ADMIN, 200, 303),
        (Role.APPROVER, 200, 303),
        (Role.VIEWER, 200, 403),
        (Role.AUDITOR, 200, 403),
        (Role.OPERATOR, 403, 403),
    ],
)
async def test_role_by_role(gate, role: Role, sees: int, decides: int) -> None:
    approval_id = await _held(gate, text=role.value)
    person = gate.person(role.value, role)
    page = await person.get(f"/inbox/{approval_id}")
    assert page.status_code == sees
    assert ('value="approve"' in page.text) == (decides == 303)
    assert (await person.post(f"/inbox/{approval_id}", data={"decision": "approve"})).status_code == decides


async def test_what_is_another_organizations_is_not_there(gate) -> None:
    await _page(gate, f"/inbox/{new_id(IdPrefix.APPROVAL)}", status=404)
    await _page(gate, "/inbox/nonsense", status=404)


_HELD_BY_RULE = """package gate

# payments
require_approval contains "writes wait" if {
    input.tool == "write"
}

require_approval contains "wipes wait" if input.tool == "wipe"

approval := {"escalate_to": ["boss@example.com"], "assignees": ["ada@example.com"]}
"""


async def test_the_rule_is_shown_with_its_line_to_who_may_read_policies(new_gate) -> None:
    gate = await new_gate(_HELD_BY_RULE)
    approval_id = await _held(gate, text="one")
    approval = (await gate.person().get(f"/v1/approvals/{approval_id}")).json()
    policy = approval["decision"]["policy_id"]
    for path in (f"/inbox/{approval_id}", f"/calls/{approval['action_id']}"):
        shown = await _page(gate, path)
        assert f'<a href="/policies/{policy}?version=1">' in shown
        assert '<span class="ln">4</span>require_approval contains "writes wait" if {' in shown
        assert '<span class="ln">6</span>}' in shown
        assert '<span class="ln">8</span>' not in shown
    shown = await _page(gate, f"/inbox/{approval_id}")
    assert "so its consequences are unknown" in shown
    assert "From the catalogue" not in shown
    missing = f"/admin/policies/{policy}/versions/1/rule?decision=require_approval&reason=else"
    assert (await gate.person().get(missing)).json()["line"] is None
    assert (await gate.as_agent.get(missing)).status_code in (401, 403)


async def test_escalate_once_from_the_page(new_gate) -> None:
    gate = await new_gate(_HELD_BY_RULE)
    approval_id = await _held(gate, text="one")
    assert "boss@example.com" in await _page(gate, f"/inbox/{approval_id}")
    ada = gate.person("ada", Role.APPROVER)
    done = await ada.post(f"/inbox/{approval_id}", data={"decision": "escalate", "reason": "too much for me"})
    assert done.status_code == 303, done.text
    shown = await _page(gate, f"/inbox/{approval_id}")
    assert 'value="escalate"' not in shown
    assert "Escalated by" in shown
    assert "“too much for me”" in shown
    again = await ada.post(f"/inbox/{approval_id}", data={"decision": "escalate"})
    assert again.status_code == 409
    assert "was escalated at" in again.text


async def test_what_the_agent_did_before(gate) -> None:
    await gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "line", "params": {}})
    approval_id = await _held(gate, text="one")
    shown = (await _page(gate, f"/inbox/{approval_id}")).partition("Earlier calls of this agent")[2]
    assert "read.line" in shown
    assert "write.line" not in shown.partition("History")[0]


async def test_the_list_by_host_agent_and_group(new_gate) -> None:
    gate = await new_gate('package t\n\nrequire_approval contains "ask" if true\n')
    person = gate.person()
    ids = {}
    for host in ("api.example.com", "other.example.com"):
        call = {
            "tool": "http",
            "operation": "get",
            "params": {"url": f"https://{host}:{8443 if host.startswith('other') else 443}/a"},
        }
        ids[host] = (await gate.as_agent.post("/v1/actions", json=call)).json()["approval_id"]
    plain = await _held(gate, text="one")

    async def listed(query: str) -> list[str]:
        return re.findall(r'data-row="(apr_[^"]+)"', (await person.get(f"/inbox?{query}")).text)

    shown = (await person.get("/inbox")).text
    assert ">api.example.com</span>" in shown and ">other.example.com:8443</span>" in shown
    assert await listed("host=API.example.com") == [ids["api.example.com"]]
    assert await listed("host=elsewhere") == []
    agent_id = (await person.get("/v1/approvals?status=pending")).json()["data"][0]["agent_id"]
    assert len(await listed(f"agent={agent_id}&host=other.example.com")) == 1
    assert (await person.post("/admin/approver-groups", json={"name": "ops", "members": ["a@b.co"]})).status_code == 201
    moved = await person.post(f"/v1/approvals/{plain}/reassign", json={"assignees": ["group:ops"], "reason": "theirs"})
    assert moved.status_code == 200, moved.text
    assert await listed("group=ops") == [plain]
    assert await listed("group=others") == []
    assert ">ops</option>" in (await person.get("/inbox")).text
    refused = await person.get("/v1/approvals?host=a.example&status=approved")
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "host")
    # The tab of decided requests drops what can only be asked of open ones.
    assert (await person.get("/inbox?view=decided&host=api.example.com")).status_code == 200


async def test_the_page_names_who_is_asked_and_who_did_what(gate) -> None:
    approval_id = await _held(gate, text="one")
    assert "Any approver" in await _page(gate, f"/inbox/{approval_id}")
    moved = {"decision": "reassign", "assignees": "grace@example.com", "reason": "hers"}
    done = await gate.person("ada", Role.ADMIN).post(f"/inbox/{approval_id}", data=moved)
    assert done.status_code == 303, done.text
    shown = re.sub(r"<[^>]*>", "", await _page(gate, f"/inbox/{approval_id}"))
    assert re.search(r"Reassigned by \S+ to grace@example.com", shown), shown[-3000:]
    assert re.search(r"Assignees\s*grace@example.com", shown)
    history = shown.partition("History")[2]
    assert "usr_" not in history and "agt_" not in history


async def test_the_inbox_shows_first_what_waits_for_the_person(gate) -> None:
    anybody, others = [await _held(gate, text=text) for text in ("anybody", "others")]
    assign = {"assignees": ["ben@example.com"]}
    assert (await gate.person().post(f"/v1/approvals/{others}/reassign", json=assign)).is_success
    ann, ben = gate.person("ann", Role.APPROVER), gate.person("ben", Role.APPROVER)
    shown = (await ann.get("/inbox")).text
    assert re.findall(r'data-row="(apr_[^"]+)"', shown) == [anybody]
    assert re.findall(r'aria-current="true">([^<]+) <span class="n">(\d+)', shown)[0] == ("Waits for you", "1")
    assert "<title>(1) " in shown
    assert re.findall(r'data-row="(apr_[^"]+)"', (await ann.get("/inbox?view=open")).text) == [others, anybody]
    assert re.findall(r'data-row="(apr_[^"]+)"', (await ben.get("/inbox")).text) == [others, anybody]
    assert (await ann.post(f"/v1/approvals/{anybody}/approve", json={})).is_success
    empty = (await ann.get("/inbox")).text
    assert "No requests wait for you" in empty
    assert "1 open request waits for other people or for more votes." in empty
    assert 'href="/inbox?view=open">Show all open requests' in empty


async def test_people_who_cannot_decide_see_all_open_requests_first(gate) -> None:
    one = await _held(gate, text="one")
    assign = {"assignees": ["ben@example.com"]}
    assert (await gate.person().post(f"/v1/approvals/{one}/reassign", json=assign)).is_success
    shown = (await gate.person("vera", Role.VIEWER).get("/inbox")).text
    assert re.findall(r'data-row="(apr_[^"]+)"', shown) == [one]
    assert ">All open <span" in shown


async def test_a_group_is_looked_for_among_all_open_requests(gate) -> None:
    one, _ = [await _held(gate, text=text) for text in ("one", "two")]
    group = {"name": "releases", "members": ["ben@example.com"]}
    assert (await gate.person().post("/admin/approver-groups", json=group)).is_success
    assign = {"assignees": ["group:releases"]}
    assert (await gate.person().post(f"/v1/approvals/{one}/reassign", json=assign)).is_success
    shown = (await gate.person("ann", Role.APPROVER).get("/inbox?group=releases")).text
    assert re.findall(r'data-row="(apr_[^"]+)"', shown) == [one]
    assert 'href="/inbox">Waits for you' in shown
