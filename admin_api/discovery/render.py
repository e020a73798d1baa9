"""A skill as documents: SKILL.md (the Agent Skills format: YAML front matter, then Markdown; agentskills.io), JSON, and
llms.txt (llmstxt.org: a title, a quotation, lists of links). Pure; the same bytes every time."""

import json
import shlex
from typing import Final

from msgspec import to_builtins

from admin_api.discovery.model import Example, Skill

BASE: Final = "$HEADGATE_API_URL"
KEY: Final = "$HEADGATE_AGENT_KEY"

_HOW: Final = f"""\
There are two ways to use Headgate. The same policies decide both:

- **Your ordinary calls.** With `HTTPS_PROXY=http://agent:KEY@HOST:PORT` and the proxy's certificate (`{BASE}/ca.pem`) \
every HTTP call that you make is an action. No other change is needed.
- **Actions that you execute yourself.** Propose them to `POST /v1/actions` first and follow the response.

`{BASE}` is the address of this page; `{KEY}` is your key. A key begins with `hg_` and goes into \
`X-Agent-Key`. Never write it into a file, a message or a log.

## What a response means

| `status` | Do |
|---|---|
| `allowed` | Execute it, once. |
| `approved` | The same, with `request.params` of `GET /v1/actions/{{id}}`: a reviewer may have edited them. |
| `pending_approval` | A person decides. Ask `GET /v1/actions/{{id}}?wait=30&expand=all` until it changes. |
| `denied` | Do not execute it, and do not try to reach the same result in another way. `decision.reason` or the \
reviewer's `approval.comment` states why: tell your user. |
| `executing`, `completed`, `failed` | Headgate executes it, or has executed it. |

A refused call through the proxy is 403 with `error.code`:

| `code` | Do |
|---|---|
| `ACTION_DENIED`, `APPROVAL_DENIED` | As `denied`. |
| `APPROVAL_PENDING` | Send the identical call again after `Retry-After` seconds: it attaches to its approval. |
| `DESTINATION_BLOCKED` | No agent may connect to this address. |

429: retry after the seconds in `Retry-After`. 503: Headgate forwarded nothing, so try again. Errors have the form \
`{{"error": {{"code", "message", "details", "requestId"}}}}`; use `code` to handle them.
"""


def skill_markdown(skill: Skill) -> str:
    lines = [
        "---",
        f"name: {skill.name}",
        f"description: {json.dumps(skill.description)}",
        f'version: "{skill.version}"',
        "---",
        "",
        "# Headgate",
        "",
        _HOW,
        "## Examples",
        "",
    ]
    for example in skill.examples:
        statuses = " or ".join(str(status) for status in example.expected_status)
        lines += [f"{example.title} (answers {statuses}):", "", "```sh", curl(example), "```", ""]
    lines += ["## Routes", "", "| Method | Path | Scope | What |", "|---|---|---|---|"]
    lines += [
        f"| {route.method} | `{route.path}` | {route.scope or 'none needed'} | {_cell(route.summary)} |"
        for route in skill.routes
    ]
    lines += ["", "The whole interface: `/openapi.json`.", "", "## Tools that Headgate knows by name", ""]
    lines += ["| Tool | Hosts | Operations |", "|---|---|---|"]
    lines += [
        f"| {tool.tool} | {', '.join(f'`{host}`' for host in tool.hosts)} | {len(tool.operations)} |"
        for tool in skill.tools
    ]
    lines += ["", "Their operations are in `/skill.json`; every other call is the tool `http`.", ""]
    return "\n".join(lines)


def curl(example: Example) -> str:
    """The example as a shell command; ``{name}`` stands for what an earlier answer said."""
    parts = ["curl", "-sS"]
    if example.method != "GET":
        parts += ["-X", example.method]
    parts.append(f'"{BASE}{example.path}"')
    if example.with_key:
        parts += ["-H", f'"X-Agent-Key: {KEY}"']
    if example.body is not None:
        parts += ["-H", shlex.quote("Content-Type: application/json"), "-d", shlex.quote(json.dumps(example.body))]
    return " ".join(parts)


def skill_json(skill: Skill) -> str:
    document = to_builtins(skill)
    for shown, example in zip(document["examples"], skill.examples, strict=True):
        shown["curl"] = curl(example)
    document["interface"] = "/openapi.json"
    return json.dumps(document, indent=1)


def llms_text(skill: Skill) -> str:
    return "\n".join(
        [
            "# Headgate",
            "",
            f"> {skill.description}",
            "",
            "## For agents",
            "",
            "- [How to work through Headgate](/skill.md): responses, examples, routes",
            "- [The same as JSON](/skill.json): with all operations of the tools that have a catalogue",
            "",
            "## Interface",
            "",
            "- [OpenAPI description](/openapi.json): every route, with its scope in the description",
            "- [The proxy's certificate](/ca.pem): the certificate that an agent's HTTP client must trust",
            "",
            "## Optional",
            "",
            "- [Health](/health): whether this instance works",
            "- [Version](/health/version): which version, commit and build it is",
            "",
        ]
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
