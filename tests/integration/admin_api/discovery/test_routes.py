"""What agents are told: true of the routes that there are, and every example works as it is printed."""

import re
import shlex

import yaml

from admin_api.access import access_of


async def test_every_command_of_the_page_does_what_it_says(gate) -> None:
    page = (await gate.client().get("/skill.md")).text
    commands = re.findall(r"^(.+) \(answers ([\d or]+)\):\n\n```sh\n(.+)\n```$", page, re.MULTILINE)
    examples = (await gate.client().get("/skill.json")).json()["examples"]
    assert [command for _, _, command in commands] == [example["curl"] for example in examples]
    assert len(commands) >= 7
    known: dict[str, str] = {}
    for (title, statuses, command), example in zip(commands, examples, strict=True):
        method, url, headers, body = parsed(command, gate, known)
        answer = await gate.client(**headers).request(method, url, content=body)
        assert str(answer.status_code) in statuses.split(" or "), (title, answer.text)
        known |= {name: answer.json()[member] for name, member in example["keep"].items()}
    assert known["action_id"].startswith("act_")


def parsed(command: str, gate, known: dict[str, str]) -> tuple[str, str, dict[str, str], str | None]:
    """A curl command as the request that it makes; the shell's variables and what is known are put in."""
    for name, value in {"$HEADGATE_API_URL": gate.api.url, "$HEADGATE_AGENT_KEY": gate.agent_key}.items():
        command = command.replace(name, value)
    for name, value in known.items():
        command = command.replace(f"{{{name}}}", value)
    words = shlex.split(command)
    assert words[:2] == ["curl", "-sS"]
    method, url, headers, body, rest = "GET", "", {}, None, words[2:]
    while rest:
        word = rest.pop(0)
        if word == "-X":
            method = rest.pop(0)
        elif word == "-H":
            name, _, value = rest.pop(0).partition(": ")
            headers[name.replace("-", "_")] = value
        elif word == "-d":
            body = rest.pop(0)
        else:
            assert not word.startswith("-"), word
            url = word
    return method, url, headers, body


async def test_it_names_the_routes_that_an_agents_key_opens_and_no_others(gate) -> None:
    document = (await gate.client().get("/skill.json")).json()
    named = {(route["method"], route["path"]): route for route in document["routes"]}
    assert {("POST", "/v1/actions"), ("GET", "/v1/actions"), ("GET", "/v1/actions/{id}")} <= set(named)
    assert not [path for _, path in named if path.startswith("/admin")]
    assert ("POST", "/v1/approvals/{id}/approve") not in named, "an agent does not approve"
    for (method, path), route in named.items():
        scope = access_of(method, path).scope
        assert route["scope"] == (None if scope is None else scope.value)
        assert route["summary"], path
        if route["scope"] is not None:
            # Not read to its end: a stream of events has none.
            async with gate.as_agent.stream(method, path.replace("{id}", "act_" + "0" * 8)) as answer:
                assert answer.status_code not in (401, 403, 405), (method, path)
    tools = {tool["tool"]: tool for tool in document["tools"]}
    assert "api.github.com" in tools["github"]["hosts"]
    assert set(tools["github"]["operations"].values()) == {"read", "write", "destructive"}


async def test_the_page_is_a_skill_and_both_names_are_the_same(gate) -> None:
    client = gate.client()
    small, large = await client.get("/skill.md"), await client.get("/SKILL.md")
    assert small.text == large.text
    assert small.headers["Content-Type"] == "text/markdown; charset=utf-8"
    front = yaml.safe_load(small.text.split("---")[1])
    assert front["name"] == "headgate"
    assert len(front["description"]) <= 1024
    assert gate.agent_key not in small.text
    assert gate.org_id not in (await gate.as_agent.get("/skill.json")).text


async def test_the_links_of_llms_txt_lead_somewhere(start_api, tmp_path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    api = await start_api(ca_certificate=certificate)
    async with api.client() as client:
        text = (await client.get("/llms.txt")).text
        links = re.findall(r"\]\((/[^)]*)\)", text)
        assert text.startswith("# Headgate\n\n> ")
        assert len(links) >= 6
        for link in links:
            assert (await client.get(link)).status_code == 200, link
